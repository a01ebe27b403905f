#include "postgres/admin/admin.hpp"

#include "postgres/admin/acts/adopt.hpp"
#include "postgres/admin/acts/operator_acts.hpp"
#include "postgres/admin/acts/parked_acts.hpp"
#include "postgres/admin/acts/repartition.hpp"
#include "postgres/admin/acts/reveal.hpp"
#include "postgres/admin/acts/rewind.hpp"
#include "postgres/admin/reports/audit_report.hpp"
#include "postgres/admin/reports/lane_report.hpp"
#include "postgres/admin/reports/parked_report.hpp"
#include "postgres/admin/reports/status_reader.hpp"
#include "postgres/admin/reports/why.hpp"
#include "postgres/wire/connection.hpp"
#include "sql/admin.hpp"

namespace seriatim::postgres {

namespace {

/// Beyond the handler's deadline, to let go of the lock.
constexpr milliseconds lock_margin{1'000};

Connection report_connection(const std::string& url) {
  return {url, {.application = "seriatim/report"}};
}

/// Acts wait for the call in flight, which holds the cursor row.
Connection act_connection(const std::string& url, const Target& target) {
  const auto lock_timeout = target.process.handler_deadline + lock_margin;
  return {url,
          {.application = "seriatim/operator",
           .statement_timeout = lock_timeout + milliseconds{30'000},
           .lock_timeout = lock_timeout}};
}

}  // namespace

Admin::Admin(std::string url, KeepWaiting keep_waiting)
    : url_(std::move(url)), keep_waiting_(std::move(keep_waiting)) {}

std::vector<LaneReport> Admin::status(const Target& target) {
  return StatusReader(url_, {target}).read();
}

Peeked Admin::peek(const Target& target, unsigned lane, unsigned rows_max) {
  auto connection = report_connection(url_);
  return peek_rows(connection, target, lane, rows_max);
}

RowReport Admin::why(const Target& target, const std::string& id) {
  Connection connection(url_, report_options());
  return explain_row(connection, target, id);
}

std::vector<JournalEntry> Admin::journal(const Target& target,
                                         const std::optional<std::string>& before,
                                         unsigned entries_max) {
  return RecordsReader(url_).journal(target.process.name, before, entries_max);
}

std::vector<LaneAudit> Admin::audit(const Target& target, bool every_bucket,
                                    const std::function<void(std::uint64_t)>& progress,
                                    const std::stop_token& stop) {
  // A sealed bucket may hold hundreds of thousands of rows.
  Connection connection(
      url_, {.application = "seriatim/report", .statement_timeout = milliseconds{3'600'000}});
  const std::stop_callback cancels(stop, [&] { connection.cancel(); });
  return audit_lanes(connection, target, every_bucket, [&](std::uint64_t rows) {
    if (stop.stop_requested()) throw SessionLost("the audit was ended before it was done");
    progress(rows);
  });
}

void Admin::note_audit(const std::string& process, const std::vector<LaneAudit>& lanes,
                       const Actor& actor, const std::string& detail) {
  Connection connection(url_, report_options());
  postgres::note_audit(connection, process, lanes, actor.who, detail);
}

/// An act on a connection of its own. `act` carries it out.
template <class F>
auto Admin::perform(const std::string& process, const Target& target, const Actor& actor,
                    std::optional<unsigned> lane, F&& act) {
  entry_.reset();
  auto connection = act_connection(url_, target);
  Act performed(connection, process, actor, keep_waiting_, lane);
  auto result = act(performed);
  entry_ = performed.entry();
  return result;
}

ActResult Admin::pause(const Target& target, const Actor& actor, std::optional<unsigned> lane) {
  return perform(target.process.name, target, actor, lane, pause_lanes);
}

ActResult Admin::resume(const Target& target, const Actor& actor, std::optional<unsigned> lane) {
  return perform(target.process.name, target, actor, lane, resume_lanes);
}

ActResult Admin::retry(const Target& target, const Actor& actor, std::optional<unsigned> lane) {
  return perform(target.process.name, target, actor, lane, retry_lanes);
}

ActResult Admin::skip(const Target& target, const std::string& id, const Actor& actor) {
  return perform(target.process.name, target, actor, std::nullopt,
                 [&](Act& act) { return skip_row(act, target, id); });
}

void Admin::parked(const Target& target, const std::optional<std::string>& key,
                   std::uint64_t rows_max, const std::function<void(const ParkedRow&)>& each,
                   const std::string& after) {
  auto connection = report_connection(url_);
  list_parked(connection, target, key, rows_max, each, after);
}

ParkedCount Admin::parked_count(const Target& target) {
  auto connection = report_connection(url_);
  return count_parked(connection, target.process.name);
}

ParkedPlan Admin::plan_parked(const Target& target, const ParkedChoice& choice, ParkedAct act) {
  auto connection = report_connection(url_);
  return postgres::plan_parked(connection, target.process.name, choice, act);
}

ActResult Admin::redrive(const Target& target, const ParkedChoice& choice, const Actor& actor) {
  return perform(target.process.name, target, actor, std::nullopt,
                 [&](Act& act) { return redrive_parked(act, choice); });
}

ActResult Admin::discard(const Target& target, const ParkedChoice& choice, const Actor& actor) {
  return perform(target.process.name, target, actor, std::nullopt,
                 [&](Act& act) { return discard_parked(act, choice); });
}

ActResult Admin::adopt(const Target& target, const std::optional<std::string>& from,
                       const Actor& actor, std::optional<OldRows> old_rows) {
  return perform(from.value_or(target.process.name), target, actor, std::nullopt, [&](Act& act) {
    return from ? take_over(act, target) : adopt_source(act, target, old_rows);
  });
}

std::vector<RewindStep> Admin::plan_rewind(const Target& target, const RewindPlace& place) {
  auto connection = report_connection(url_);
  return postgres::plan_rewind(connection, target, place);
}

std::vector<RewindStep> Admin::rewind(const Target& target, const RewindPlace& place,
                                      const Actor& actor, milliseconds settle_max,
                                      const ApproveRewind& approve) {
  return perform(target.process.name, target, actor, std::nullopt,
                 [&](Act& act) { return rewind_lanes(act, target, place, settle_max, approve); });
}

std::optional<std::string> Admin::payload(const Target& target, const std::string& id) {
  auto connection = report_connection(url_);
  return payload_of(connection, target, id);
}

Revealed Admin::reveal(const Target& target, const std::string& id, const Actor& actor) {
  auto connection = report_connection(url_);
  return reveal_payload(connection, target, id, actor);
}

ActResult Admin::repartition(const Target& target, unsigned lanes, const Actor& actor,
                             const std::function<bool(const std::string&)>& keep_waiting) {
  auto connection = act_connection(url_, target);
  return recut_lanes(connection, target, lanes, actor, keep_waiting_, keep_waiting);
}

std::string Admin::append(const Message& message) {
  Connection connection(url_, {.application = "seriatim append"});  // a producer, none of ours
  return connection
      .run(sql::admin::append_message, {message.aggregate_type, message.aggregate_id,
                                        message.event_type, message.payload, message.headers})[0][0]
      .as<std::string>();
}

}  // namespace seriatim::postgres

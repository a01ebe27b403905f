#include "postgres/admin/admin.hpp"

#include "postgres/admin/acts/adopt.hpp"
#include "postgres/admin/acts/operator_acts.hpp"
#include "postgres/admin/acts/parked_acts.hpp"
#include "postgres/admin/acts/repartition.hpp"
#include "postgres/admin/acts/rewind.hpp"
#include "postgres/admin/reports/audit_report.hpp"
#include "postgres/admin/reports/lane_report.hpp"
#include "postgres/admin/reports/parked_report.hpp"
#include "postgres/admin/reports/status_reader.hpp"
#include "postgres/admin/reports/why.hpp"
#include "postgres/wire/connection.hpp"
#include "sql/admin.hpp"
#include "sql/reports.hpp"

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
  auto connection = report_connection(url_);
  std::vector<JournalEntry> entries;
  for (const auto& row : connection.run(
           sql::reports::journal, {target.process.name, before, std::to_string(entries_max)})) {
    const auto text = [&](const char* name) { return row[name].as<std::string>(""); };
    JournalEntry entry{text("number"), text("act"), {}, text("at"), text("who"), text("why"), {}};
    if (!row["lane"].is_null()) entry.lane = row["lane"].as<unsigned>();
    if (!row["row_id"].is_null()) entry.row_id = text("row_id");
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<LaneAudit> Admin::audit(const Target& target, bool every_bucket,
                                    const std::function<void(std::uint64_t)>& progress) {
  // A sealed bucket may hold hundreds of thousands of rows.
  Connection connection(
      url_, {.application = "seriatim/report", .statement_timeout = milliseconds{3'600'000}});
  return audit_lanes(connection, target, every_bucket, progress);
}

void Admin::note_audit(const std::string& process, const std::vector<LaneAudit>& lanes,
                       const Actor& actor, const std::string& detail) {
  Connection connection(url_, report_options());
  postgres::note_audit(connection, process, lanes, actor.who, detail);
}

ActResult Admin::pause(const Target& target, const Actor& actor) {
  auto connection = act_connection(url_, target);
  Act act(connection, target.process.name, actor, keep_waiting_);
  return pause_lanes(act);
}

ActResult Admin::resume(const Target& target, const Actor& actor) {
  auto connection = act_connection(url_, target);
  Act act(connection, target.process.name, actor, keep_waiting_);
  return resume_lanes(act);
}

ActResult Admin::retry(const Target& target, const Actor& actor) {
  auto connection = act_connection(url_, target);
  Act act(connection, target.process.name, actor, keep_waiting_);
  return retry_lanes(act);
}

ActResult Admin::skip(const Target& target, const std::string& id, const Actor& actor) {
  auto connection = act_connection(url_, target);
  Act act(connection, target.process.name, actor, keep_waiting_);
  return skip_row(act, target, id);
}

void Admin::parked(const Target& target, const std::optional<std::string>& key,
                   std::uint64_t rows_max, const std::function<void(const ParkedRow&)>& each) {
  auto connection = report_connection(url_);
  list_parked(connection, target, key, rows_max, each);
}

ParkedCount Admin::parked_count(const Target& target) {
  auto connection = report_connection(url_);
  return count_parked(connection, target.process.name);
}

ActResult Admin::redrive(const Target& target, const ParkedChoice& choice, const Actor& actor) {
  auto connection = act_connection(url_, target);
  Act act(connection, target.process.name, actor, keep_waiting_);
  return redrive_parked(act, choice);
}

ActResult Admin::discard(const Target& target, const ParkedChoice& choice, const Actor& actor) {
  auto connection = act_connection(url_, target);
  Act act(connection, target.process.name, actor, keep_waiting_);
  return discard_parked(act, choice);
}

ActResult Admin::adopt(const Target& target, const std::optional<std::string>& from,
                       const Actor& actor, std::optional<OldRows> old_rows) {
  auto connection = act_connection(url_, target);
  Act act(connection, from.value_or(target.process.name), actor, keep_waiting_);
  return from ? take_over(act, target) : adopt_source(act, target, old_rows);
}

std::vector<RewindStep> Admin::plan_rewind(const Target& target, const RewindPlace& place) {
  auto connection = report_connection(url_);
  return postgres::plan_rewind(connection, target, place);
}

std::vector<RewindStep> Admin::rewind(const Target& target, const RewindPlace& place,
                                      const Actor& actor, milliseconds settle_max) {
  auto connection = act_connection(url_, target);
  Act act(connection, target.process.name, actor, keep_waiting_);
  return rewind_lanes(act, target, place, settle_max);
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

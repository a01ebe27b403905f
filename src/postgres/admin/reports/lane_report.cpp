#include "postgres/admin/reports/lane_report.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "core/fence.hpp"
#include "postgres/admin/reports/parked_report.hpp"
#include "postgres/reader/fence_reader.hpp"
#include "postgres/reader/poll_source.hpp"
#include "postgres/reader/row_search.hpp"
#include "postgres/store/aside.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/late_look.hpp"
#include "postgres/store/start_place.hpp"
#include "postgres/table/long_transaction.hpp"
#include "postgres/table/table.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/reports.hpp"
#include "sql/store.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

/// Writers gone within this time hold nobody up.
constexpr milliseconds short_transaction{100};

LaneState state_of(const LaneRow& row) {
  switch (row.cursor.state) {
    case Cursor::State::halted: return LaneState::halted;
    case Cursor::State::paused: return LaneState::paused;
    case Cursor::State::retrying:
      return row.holder_alive ? LaneState::retrying : LaneState::standby;
    case Cursor::State::running: break;
  }
  return row.holder_alive ? LaneState::running : LaneState::standby;
}

LaneReport report_from(const LaneRow& row) {
  LaneReport report;
  report.lane.process = row.id.process;
  report.lane.lane = row.id.lane;
  report.lane.state = state_of(row);
  report.lane.position = row.cursor.position;
  report.lane.sequence = row.cursor.sequence;
  report.lane.epoch = row.cursor.epoch;
  report.lane.attempts = row.cursor.attempts;
  report.lane.reason = row.cursor.reason;
  report.lane.detail = row.cursor.detail;
  report.lane.row_id = row.cursor.row_id;
  if (report.lane.state == LaneState::retrying) report.lane.retry_in = row.cursor.retry_in;
  report.holder = row.holder_alive ? row.holder : "";
  report.holder_alive = row.holder_alive;
  report.updated_at = row.updated_at;
  report.without_cursor = row.renamed_to.has_value() || row.gone;
  if (row.cursor.barrier) report.barrier = {*row.cursor.barrier, row.id.lanes, false, {}, {}};
  return report;
}

/// Those of `before` that still hold, and began before the row was stamped. One that began later
/// draws a later place; age 0 is one whose age this role may not see.
std::vector<Blocker> still_blocking(Connection& connection, const Table& table,
                                    const Writers& before, milliseconds row_age) {
  std::set<std::string> known;
  for (const auto& holder : before.holders) known.insert(holder.transaction);
  const auto now = read_writers(connection, table);
  std::vector<Blocker> blockers;
  for (std::size_t i = 0; i < now.holders.size(); ++i) {
    const auto& blocker = now.blockers[i];
    const bool too_young = !now.holders[i].prepared && blocker.age > milliseconds{0} &&
                           blocker.age + milliseconds{1} < row_age;
    if (known.contains(now.holders[i].transaction) && !too_young) blockers.push_back(blocker);
  }
  return blockers;
}

std::string words(const Blocker& blocker) {
  const auto seconds = std::to_string(blocker.age.count() / 1000) + " s";
  if (blocker.pid == 0) return "prepared transaction '" + blocker.gid + "', " + seconds + " old";
  std::string text = "pid " + std::to_string(blocker.pid);
  if (!blocker.application.empty()) text += " " + blocker.application;
  if (!blocker.state.empty()) text += ", " + blocker.state;
  if (blocker.age > milliseconds{0}) text += ", " + seconds + " old";
  return text;
}

class Reporter {
 public:
  Reporter(Connection& connection, const Target& target, const Table& table)
      : connection_(connection), target_(target), table_(table) {}

  /// What the table says: lag, the next row, and what holds it back.
  void complete(LaneReport& report, const LaneId& lane) {
    const auto& after = report.lane.position;
    const auto first = count_waiting(report, lane);
    report.late_records = 0;
    if (after && target_.source.late_rows == OnLateRow::deliver) add_late_rows(report, lane);
    if (after) add_old_rows(report, lane);
    const auto due = read_due_rows(connection_, lane, 1).rows;
    const bool begun = !due.empty() && due[0].begun;
    if (begun) report.next_id = due[0].id;  // a batch goes on first, in its own order
    if (report.barrier) look_at_barrier(report, first);
    if (report.lane.state != LaneState::running) return;
    if (begun || report.late_records.value_or(0) > 0) {  // settled long ago, and first to go out
      report.called_for = call_in_hand(lane);
      return;
    }
    if (!first || (report.barrier && report.barrier->reached)) {
      report.lane.state = LaneState::idle;
      return;
    }
    report.called_for = call_in_hand(lane);
    if (report.called_for) return;  // so the row was settled
    look_at_fence(report, *first, lane);
  }

 private:
  using Row = WaitingRows::Row;

  /// Lag and the next row. One row that cannot be judged leaves the lag unknown, not the rest.
  std::optional<Row> count_waiting(LaneReport& report, const LaneId& lane) {
    WaitingRows waiting(connection_, table_, lane);
    const auto& after = report.lane.position;
    std::optional<Row> first;
    try {
      first = waiting.first(after);
      tell_next(report, first);
      report.lag_records = first ? waiting.count(after, LaneReport::lag_records_max + 1) : 0;
      return first;
    } catch (const SourceBroken& broken) {
      if (broken.reason() != HaltReason::bad_payload) throw;
    }
    RowSearch search(connection_, table_, lane);
    first = search.first(after, std::nullopt);
    tell_next(report, first);
    const auto survey = search.survey(after);
    report.unread = survey.unread;
    if (!report.unread) report.lag_records = survey.rows;
    return first;
  }

  void tell_next(LaneReport& report, const std::optional<Row>& first) {
    report.lag_age = first ? age_of(*first) : milliseconds{0};
    report.next_id = first ? std::optional(first->id) : std::nullopt;
  }

  /// Late rows go out before those after the cursor.
  void add_late_rows(LaneReport& report, const LaneId& lane) {
    const auto& cursor = *report.lane.position;
    const auto window = read_late_window(connection_, lane, cursor, target_.source.lookback);
    report.late_from_us = window.start;
    Recount rows(connection_, table_, lane);
    std::vector<Position> late;
    try {
      late = rows.find(window.range, INT64_MAX, late_reported_max);
    } catch (const SourceBroken&) {
      report.late_records = report.lag_records = std::nullopt;
      throw;
    }
    if (late.empty()) return;
    report.late_records = late.size();
    if (report.lag_records) *report.lag_records += late.size();
    report.lag_age = std::max(report.lag_age.value_or(milliseconds{0}),
                              age_of({late[0].id, late[0].created_at_us}));
    report.next_id = late[0].id;
  }

  /// Made due by `adopt --old-rows deliver`; those within the window of late rows are counted.
  void add_old_rows(LaneReport& report, const LaneId& lane) {
    const auto until =
        report.late_from_us ? std::optional(timestamp_text(*report.late_from_us)) : std::nullopt;
    const auto due = connection_.run(sql::reports::old_rows_due,
                                     {lane.process, std::to_string(lane.lane), until})[0];
    const auto rows = due["rows"].as<std::uint64_t>();
    if (rows == 0) return;
    if (report.late_records) *report.late_records += rows;
    if (report.lag_records) *report.lag_records += rows;
    report.lag_age = std::max(report.lag_age.value_or(milliseconds{0}),
                              age_of({{}, due["oldest_us"].as<std::int64_t>()}));
  }

  void look_at_barrier(LaneReport& report, const std::optional<Row>& first) {
    auto& barrier = *report.barrier;
    barrier.reached = first && core::comes_after({first->created_at_us.value_or(0), first->id},
                                                 barrier.position, target_.source.order_by);
    try {
      const auto set = connection_.run(
          sql::store::latest_act,
          {report.lane.process, "barrier", std::to_string(report.lane.lane), std::nullopt});
      if (set.empty()) return;
      barrier.since = set[0]["at"].as<std::string>();
      barrier.who = set[0]["who"].as<std::string>();
    } catch (const SourceBroken&) {  // this role may write the journal, and not read it
    }
  }

  std::optional<milliseconds> call_in_hand(const LaneId& lane) {
    const auto row =
        connection_.run(sql::reports::call_in_hand, {lane.process, std::to_string(lane.lane)});
    if (row.empty()) return std::nullopt;
    return milliseconds{std::max<std::int64_t>(0, row[0]["called_ms"].as<std::int64_t>())};
  }

  milliseconds age_of(const Row& row) {
    const auto now = connection_.run(sql::wire::clock)[0][0].as<std::int64_t>();
    const auto age = now - row.created_at_us.value_or(now);
    return milliseconds{std::max<std::int64_t>(0, age / 1000)};
  }

  /// A look from outside knows no bounds of earlier looks, so every writer seems to hold the mark;
  /// a second one tells who really does.
  void look_at_fence(LaneReport& report, const Row& first, const LaneId& lane) {
    PollSource source(connection_, table_, target_.source, lane);
    const auto round = source.poll(report.lane.position, 1);
    if (!round.fenced) return;
    const auto before = read_writers(connection_, table_);
    if (before.holders.empty()) return look_at_clock(report, first);
    std::this_thread::sleep_for(short_transaction);
    auto blockers = still_blocking(connection_, table_, before, age_of(first));
    if (blockers.empty()) return;
    report.lane.state = LaneState::fenced;
    report.lane.fenced_for = report.lag_age.value_or(milliseconds{0});
    report.lane.row_id = report.next_id;
    report.lane.detail = "an earlier row may still come from " + words(blockers.front());
    if (blockers.size() > 1) {
      report.lane.detail += " and " + std::to_string(blockers.size() - 1) + " more";
    }
    report.lane.blockers = std::move(blockers);
  }

  /// Nobody writes, and still the row waits: its time is yet to come.
  void look_at_clock(LaneReport& report, const Row& first) {
    const auto now = connection_.run(sql::wire::clock)[0][0].as<std::int64_t>();
    if (!first.created_at_us || *first.created_at_us <= now) return;
    report.lane.state = LaneState::fenced;
    report.lane.row_id = report.next_id;
    report.lane.detail = "row " + first.id + " is stamped " + timestamp_text(*first.created_at_us) +
                         ", " + std::to_string((*first.created_at_us - now) / 1'000'000) +
                         " s ahead of the server's clock";
  }

  Connection& connection_;
  const Target& target_;
  const Table& table_;
};

/// The cursor can be shown although the table cannot be read.
void tell_broken(LaneReport& report, const SourceBroken& broken) {
  if (!report.lane.reason) report.lane.detail = broken.what();
  if (report.unread) return;  // named already
  report.unread = UnreadRow{{}, broken.what(), broken.reason(), {}};
}

/// Why a relay would refuse a lane, with the words for it.
using Refused = std::pair<HaltReason, std::string>;

/// `refused` is absent if the process has not begun.
LaneRow never_claimed(const Target& target, unsigned lane, const std::optional<Refused>& refused) {
  LaneRow row;
  row.id = {target.process.name, lane, target.process.lanes};
  row.cursor.detail = refused ? refused->second : "never claimed: start `seriatim run`";
  row.gone = refused.has_value();
  if (refused) {
    row.cursor.state = Cursor::State::halted;
    row.cursor.reason = refused->first;
  }
  return row;
}

/// For a lane without a row in a process that has some, `cut` of them.
Refused why_without_row(const Target& target, unsigned lane, unsigned cut) {
  const auto& process = target.process.name;
  if (lane < cut) return {HaltReason::source_changed, row_gone_text(process)};
  return {HaltReason::config_changed, other_lanes_text(process, cut, target.process.lanes)};
}

}  // namespace

std::vector<LaneRow> all_lanes(Connection& connection, const Target& target) {
  auto rows = read_lanes(connection, target.process.name);
  std::optional<Refused> refused;
  const auto cut = rows.empty() ? 0 : rows.front().id.lanes;
  if (rows.empty()) {
    auto known = why_not_new(connection, target.process.name);
    if (!known.empty()) refused = {HaltReason::source_changed, std::move(known)};
  }
  for (unsigned lane = 0; lane < target.process.lanes; ++lane) {
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const LaneRow& row) { return row.id.lane == lane; });
    if (known) continue;
    if (cut > 0) refused = why_without_row(target, lane, cut);
    rows.push_back(never_claimed(target, lane, refused));
  }
  std::sort(rows.begin(), rows.end(),
            [](const LaneRow& a, const LaneRow& b) { return a.id.lane < b.id.lane; });
  return rows;
}

LaneReport report_lane(Connection& connection, const Target& target, const Table& table,
                       const LaneRow& row) {
  auto report = report_from(row);
  if (report.without_cursor) return report;  // nobody knows what waits, or it is another name's
  try {
    Reporter(connection, target, table).complete(report, row.id);
  } catch (const SourceBroken& broken) {
    tell_broken(report, broken);
  }
  return report;
}

namespace {

/// Nothing where this role may not see them.
std::optional<std::vector<InstanceReport>> list_instances(Connection& connection,
                                                          const std::string& process) {
  std::vector<InstanceReport> instances;
  try {
    for (const auto& row : connection.run(sql::reports::list_instances, {process})) {
      instances.push_back({row["holder"].as<std::string>(), row["lanes"].as<unsigned>(),
                           row["held"].as<unsigned>(),
                           milliseconds{row["seen_ms"].as<std::int64_t>()}});
    }
  } catch (const SourceBroken&) {
    return std::nullopt;
  }
  return instances;
}

/// Nothing where this role may not see them.
void add_audit_ages(Connection& connection, const std::string& process,
                    std::vector<LaneReport>& reports) {
  try {
    for (const auto& row : connection.run(sql::reports::audit_ages, {process})) {
      for (auto& report : reports) {
        if (report.lane.lane != row["lane"].as<unsigned>()) continue;
        report.audit_age = milliseconds{row["age_ms"].as<std::int64_t>()};
      }
    }
  } catch (const SourceBroken&) {
  }
}

}  // namespace

std::vector<LaneReport> report_lanes(Connection& connection, const Target& target) {
  std::vector<LaneReport> reports;
  const auto rows = all_lanes(connection, target);
  reports.reserve(rows.size());
  try {
    const auto table = resolve_table(connection, target.source);
    const auto long_transaction = target.source.late_rows == OnLateRow::deliver
                                      ? find_long_transaction(connection)
                                      : std::nullopt;
    for (const auto& row : rows) reports.push_back(report_lane(connection, target, table, row));
    for (auto& report : reports) report.long_transaction = long_transaction;
  } catch (const SourceBroken& broken) {
    reports.clear();
    for (const auto& row : rows) {
      reports.push_back(report_from(row));
      tell_broken(reports.back(), broken);
    }
  }
  const auto parked = count_parked(connection, target.process.name);
  for (auto& report : reports) report.parked = parked;
  add_audit_ages(connection, target.process.name, reports);
  if (reports.size() > 1) {
    const auto instances = list_instances(connection, target.process.name);
    for (auto& report : reports) {
      report.instances = instances.value_or(std::vector<InstanceReport>{});
      report.instances_hidden = !instances;
    }
  }
  return reports;
}

}  // namespace seriatim::postgres

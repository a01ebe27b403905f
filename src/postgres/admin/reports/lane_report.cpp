#include "postgres/admin/reports/lane_report.hpp"

#include <algorithm>
#include <map>

#include "core/fence.hpp"
#include "postgres/admin/reports/full_disk.hpp"
#include "postgres/admin/reports/lane_sessions.hpp"
#include "postgres/admin/reports/parked_report.hpp"
#include "postgres/reader/row_search.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/late_check.hpp"
#include "postgres/store/rows_ahead.hpp"
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

LaneReport report_from(const LaneRow& row, const ProcessConfig& process) {
  LaneReport report{.rate_limit = process.rate_limit, .key_rate_limit = process.key_rate_limit};
  report.lane.process = row.id.process;
  report.lane.lane = row.id.lane;
  report.lane.state = state_of(row);
  report.lane.position = row.cursor.position;
  report.lane.sequence = row.cursor.sequence;
  report.lane.epoch = row.cursor.epoch;
  report.lane.attempts = row.cursor.attempts;
  report.lane.in_flight = row.holder_alive ? announced(row.cursor.ahead) : 0;
  report.done_ahead = row.cursor.ahead.done.size();
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

/// What goes out before the rows after the cursor.
struct Due {
  std::string id;
  bool begun = false;  ///< a batch goes on first, in its own order
  bool old = false;    ///< some go out late because a person decided so
};

std::map<unsigned, Due> read_due(Connection& connection, const LaneId& any) {
  std::map<unsigned, Due> due;
  for (const auto& row :
       connection.run(sql::reports::due_of_lanes, {any.process, std::to_string(any.lanes)})) {
    due[row["lane"].as<unsigned>()] = {row["row_id"].as<std::string>(), row["begun"].as<bool>(),
                                       row["old"].as<bool>()};
  }
  return due;
}

/// What several lanes are asked at once.
struct Shared {
  std::map<unsigned, Due> due;
  /// Absent: one lane, or a row that cannot be judged. Then each lane counts for itself.
  std::optional<std::map<unsigned, LaneWaiting>> waiting;
};

Shared read_shared(Connection& connection, const Table& table, const std::vector<LaneRow>& lanes,
                   bool due) {
  Shared shared;
  if (due) shared.due = read_due(connection, lanes.front().id);
  if (lanes.size() <= 1) return shared;
  std::map<unsigned, std::optional<Position>> after;
  for (const auto& lane : lanes) {
    if (!lane.gone && !lane.renamed_to) after[lane.id.lane] = lane.cursor.position;
  }
  try {
    shared.waiting = count_lanes(connection, table, lanes.front().id.lanes, std::move(after));
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
  }
  return shared;
}

class Reporter {
 public:
  Reporter(Connection& connection, const Target& target, const Table& table, const Shared& shared)
      : connection_(connection), target_(target), table_(table), shared_(shared) {}

  /// What the table says: lag and the next row. Answers a row that the fence may hold back.
  std::optional<RowInFront> complete(LaneReport& report, const LaneId& lane) {
    const auto& after = report.lane.position;
    const auto first = count_waiting(report, lane);
    report.late_records = 0;
    if (after && target_.source.late_rows == OnLateRow::deliver) add_late_rows(report, lane);
    const auto found = shared_.due.find(lane.lane);
    const Due due = found == shared_.due.end() ? Due{} : found->second;
    if (after && due.old) add_old_rows(report, lane);
    if (due.begun) report.next_id = due.id;
    if (report.barrier) read_barrier(report, first);
    if (report.lane.state != LaneState::running) return std::nullopt;
    if (due.begun || report.late_records.value_or(0) > 0) return std::nullopt;  // long settled
    if (!first && report.lag_more) return std::nullopt;
    if (!first || (report.barrier && report.barrier->reached)) {
      report.lane.state = LaneState::idle;
      report.called_for.reset();
      return std::nullopt;
    }
    if (report.called_for) return std::nullopt;  // so the row was settled
    if (follows_at_once(*first, after, lane)) return std::nullopt;
    return RowInFront{first->id, first->created_at_us};
  }

 private:
  using Row = WaitingRows::Row;

  /// In the order of ids: there is no id between the two, so no transaction can hold the row back.
  bool follows_at_once(const Row& row, const std::optional<Position>& after,
                       const LaneId& lane) const {
    if (!after || !table_.by_id || !table_.is_whole_for(lane)) return false;
    const auto last = order_key_of(*after, OrderBy::id);
    return last < order_key_max &&
           order_key_of({row.created_at_us.value_or(0), row.id}, OrderBy::id) == last + 1;
  }

  /// Lag and the next row. One row that cannot be judged leaves the lag unknown, not the rest.
  std::optional<Row> count_waiting(LaneReport& report, const LaneId& lane) {
    if (shared_.waiting) {
      const auto& counted = shared_.waiting->at(lane.lane);
      if (counted.rows > 0 || !counted.more || Clock::now() > search_until_) {
        return take_count(report, counted);
      }
    }
    WaitingRows waiting(connection_, table_, lane);
    const auto& after = report.lane.position;
    std::optional<Row> first;
    try {
      first = waiting.first(after);
      name_next(report, first);
      report.lag_records = first ? waiting.count(after, LaneReport::lag_records_max + 1) : 0;
      report.lag_more = *report.lag_records > LaneReport::lag_records_max;
      return first;
    } catch (const SourceBroken& broken) {
      if (broken.reason() != HaltReason::bad_payload) throw;
    }
    RowSearch search(connection_, table_, lane);
    first = search.first(after, std::nullopt);
    name_next(report, first);
    const auto survey = search.survey(after);
    report.unread = survey.unread;
    if (!report.unread) report.lag_records = survey.rows;
    return first;
  }

  std::optional<Row> take_count(LaneReport& report, const LaneWaiting& waiting) {
    report.lag_more = waiting.more;
    if (waiting.rows > 0 || !waiting.more) {
      name_next(report, waiting.first);
      report.lag_records = waiting.rows;
    }
    return waiting.first;
  }

  void name_next(LaneReport& report, const std::optional<Row>& first) {
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

  void read_barrier(LaneReport& report, const std::optional<Row>& first) {
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

  milliseconds age_of(const Row& row) {
    const auto now = connection_.run(sql::wire::clock)[0][0].as<std::int64_t>();
    const auto age = now - row.created_at_us.value_or(now);
    return milliseconds{std::max<std::int64_t>(0, age / 1000)};
  }

  Connection& connection_;
  const Target& target_;
  const Table& table_;
  const Shared& shared_;
  using Clock = std::chrono::steady_clock;
  /// A lane of which the passes saw no row searches for its first one itself, which may take long
  /// without an index of the lane. So only until then; then it is said to be unknown.
  Clock::time_point search_until_ = Clock::now() + milliseconds{500};
};

/// Of `rows`, whose reports are `reports`.
void add_sessions(Connection& connection, const Target& target, const std::vector<LaneRow>& rows,
                  std::vector<LaneReport>& reports) {
  std::map<unsigned, LaneSession> sessions;
  try {
    sessions = read_sessions(connection, target.process.name);
  } catch (const SourceBroken&) {  // this role, or this server, does not show them
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto session = sessions.find(rows[i].id.lane);
    if (session == sessions.end()) continue;
    if (rows[i].holder_alive && session->second.in_call) {
      reports[i].called_for = session->second.called;
    }
    reports[i].wait = wait_of(rows[i], session->second, target.process);
  }
}

/// The cursor can be shown although the table cannot be read.
void report_broken(LaneReport& report, const SourceBroken& broken) {
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

namespace {

/// What the table says of the lanes. One that cannot be read does not keep back the others.
void complete_reports(Connection& connection, const Target& target, const Table& table,
                      const std::vector<LaneRow>& rows, std::vector<LaneReport>& reports,
                      KnownWriters& known) {
  if (rows.empty()) return;
  const auto shared = read_shared(connection, table, rows, reports.front().parked.due);
  Reporter reporter(connection, target, table, shared);
  std::map<LaneReport*, RowInFront> behind_fence;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (reports[i].without_cursor) continue;  // nobody knows what waits, or it is another name's
    try {
      if (auto first = reporter.complete(reports[i], rows[i].id)) {
        behind_fence.emplace(&reports[i], std::move(*first));
      }
    } catch (const SourceBroken& broken) {
      report_broken(reports[i], broken);
    }
  }
  if (target.source.guard == Guard::fence) report_fence(connection, table, behind_fence, known);
}

std::vector<LaneReport> cursors_of(Connection& connection, const Target& target,
                                   const std::vector<LaneRow>& rows) {
  std::vector<LaneReport> reports;
  reports.reserve(rows.size());
  for (const auto& row : rows) reports.push_back(report_from(row, target.process));
  add_sessions(connection, target, rows, reports);
  const auto parked = count_parked(connection, target.process.name);
  for (auto& report : reports) report.parked = parked;
  return reports;
}

}  // namespace

LaneReport report_lane(Connection& connection, const Target& target, const Table& table,
                       const LaneRow& row) {
  const std::vector<LaneRow> rows{row};
  auto reports = cursors_of(connection, target, rows);
  KnownWriters known;
  try {
    complete_reports(connection, target, table, rows, reports, known);
  } catch (const SourceBroken& broken) {
    report_broken(reports[0], broken);
  }
  return reports[0];
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
void add_audits(Connection& connection, const std::string& process,
                std::vector<LaneReport>& reports) {
  try {
    for (const auto& row : connection.run(sql::reports::audits, {process})) {
      const bool of_process = row["lane"].is_null();
      for (auto& report : reports) {
        if (of_process) {
          report.latest_audit = {row["sound"].as<bool>(), row["at_us"].as<std::int64_t>(),
                                 row["detail"].as<std::string>()};
          continue;
        }
        if (report.lane.lane != row["lane"].as<unsigned>()) continue;
        report.audit_age = milliseconds{row["age_ms"].as<std::int64_t>()};
      }
    }
  } catch (const SourceBroken&) {
  }
}

}  // namespace

bool is_held_up(const SessionLost& lost) {
  return lost.sqlstate() == "55P03" || lost.sqlstate() == "57014";
}

std::string held_up_text(const SessionLost& lost) {
  return lost.sqlstate() == "55P03" ? "the table is locked: its rows could not be read within " +
                                          std::to_string(report_lock_max.count() / 1000) + " s"
                                    : "its rows could not be read within " +
                                          std::to_string(report_statement_max.count() / 1000) +
                                          " s: the server is slow, or an index is missing "
                                          "(seriatim check)";
}

namespace {

std::vector<LaneRow> lanes_in_time(Connection& connection, const Target& target) {
  try {
    return all_lanes(connection, target);
  } catch (const SessionLost& lost) {
    if (!is_held_up(lost)) throw;
    throw SessionLost("the cursors of process \"" + target.process.name +
                          "\" could not be read in time: seriatim.cursor is locked, or the server "
                          "is slow; see pg_locks for who holds it, end that, and ask again",
                      lost.sqlstate());
  }
}

}  // namespace

std::vector<LaneReport> report_cursors(Connection& connection, const Target& target) {
  const auto rows = lanes_in_time(connection, target);
  return cursors_of(connection, target, rows);
}

namespace {

/// What the table says of the lanes; whether all of it could be read.
bool read_table(Connection& connection, const Target& target, const std::vector<LaneRow>& rows,
                std::vector<LaneReport>& reports, ReportMemory& memory) {
  try {
    if (!memory.table || memory.table_until < ReportMemory::Clock::now()) {
      memory.table = resolve_table(connection, target.source);
      memory.table_until = ReportMemory::Clock::now() + ReportMemory::table_max;
    }
    complete_reports(connection, target, *memory.table, rows, reports, memory.writers);
    if (target.source.late_rows == OnLateRow::deliver) {
      const auto open = find_long_transaction(connection);
      for (auto& report : reports) report.long_transaction = open;
    }
  } catch (const SourceBroken& broken) {
    for (auto& report : reports) report_broken(report, broken);
  } catch (const SessionLost& lost) {
    if (!is_held_up(lost)) throw;
    connection.rollback();
    for (auto& report : reports) report.not_read = held_up_text(lost);
    return true;  // not for the table's names
  }
  return std::none_of(reports.begin(), reports.end(),
                      [](const LaneReport& report) { return report.unread.has_value(); });
}

}  // namespace

std::vector<LaneReport> report_lanes(Connection& connection, const Target& target,
                                     ReportMemory& memory) {
  const auto rows = lanes_in_time(connection, target);
  auto reports = cursors_of(connection, target, rows);
  const bool remembered = memory.table.has_value();
  if (!read_table(connection, target, rows, reports, memory)) {
    memory.table.reset();
    if (remembered) {  // the table may have changed since
      reports = cursors_of(connection, target, rows);
      read_table(connection, target, rows, reports, memory);
    }
  }
  name_full_disk(connection, reports);
  add_audits(connection, target.process.name, reports);
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

#include "postgres/auditor/audit_pass.hpp"

#include <algorithm>
#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "sql/auditor.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int duty_cycle = 50;  ///< a turn is followed by so many times its length
/// No further step of a turn is begun after this.
constexpr std::chrono::milliseconds turn_max{5};
/// A lane that has rows without a pause takes its turn before them after this.
constexpr std::chrono::milliseconds put_off_max{250};
constexpr std::uint64_t step_rows = 1'000;
constexpr unsigned late_max = 1'000;  ///< counted no further

constexpr std::uint64_t ids_max = 1'000'000;  ///< kept a lane, before the audit window is over
constexpr std::uint64_t sealed_rows_max = 262'144;  ///< in one sealed bucket
constexpr unsigned sealed_at_once = 256;            ///< buckets a turn …
/// … and rows: to hash the ids of so many ranges takes 10 to 20 ms.
constexpr std::uint64_t sealed_rows_at_once = 65'536;

constexpr std::size_t named_max = 10;
constexpr std::size_t named_bytes_max = 200;  ///< the whole text must fit Outcome::reason_bytes_max

std::string named(const std::vector<Position>& late) {
  std::string ids;
  std::size_t count = 0;
  for (const auto& row : late) {
    if (count == named_max || ids.size() + row.id.size() > named_bytes_max) break;
    ids += (count++ == 0 ? "" : ", ") + row.id;
  }
  return count == late.size() ? ids : ids + " …";
}

const char* advice(const SourceConfig& config) {
  if (config.order_by == OrderBy::id) {
    return "Insert again with a new id, delete and `retry`, or `skip` each";
  }
  return config.late_rows == OnLateRow::deliver
             ? "Behind the lookback: a longer `lookback` delivers such rows; or set created_at to "
               "clock_timestamp() and `retry`, or `skip` each"
             : "Set created_at to clock_timestamp() and `retry`, or `skip` each; "
               "`late_rows = \"deliver\"` delivers such rows";
}

std::string late_text(const std::vector<Position>& late, const Position& cursor,
                      const SourceConfig& config) {
  const bool one = late.size() == 1;
  const auto count = (late.size() >= late_max ? "at least " : "") + std::to_string(late.size());
  return count + (one ? " row" : " rows") + " appeared behind the cursor (row " +
         cursor.id.substr(0, 40) + ") and " + (one ? "was" : "were") +
         " not delivered: " + named(late) + ". " + advice(config);
}

}  // namespace

AuditPass::AuditPass(Connection& connection, const Table& table, const SourceConfig& config,
                     const LaneId& lane)
    : connection_(connection),
      table_(table),
      config_(config),
      lane_(lane),
      late_rows_(connection, table, config.order_by, lane) {
  if (config.order_by == OrderBy::id) {
    began_again_ = statement_for(sql::auditor::began_again_by_id, table, lane);
  }
}

std::optional<Round::Unreadable> AuditPass::look(const std::optional<Position>& cursor,
                                                 const std::optional<Mark>& window_start,
                                                 const std::function<bool()>& interrupted) {
  if (!cursor || !due()) return std::nullopt;
  do {
    const auto began = Clock::now();
    auto found = step(*cursor, window_start);
    took_ += Clock::now() - began;
    if (found) {  // looked at again as soon as an operator says so
      first_ = true;
      step_ = Step::newest;
      took_ = {};
      return found;
    }
  } while (step_ != Step::newest && (first_ || !interrupted()));
  if (step_ == Step::newest) end_turn();
  return std::nullopt;
}

bool AuditPass::due() const {
  return seldom_.due(Clock::now());
}

bool AuditPass::overdue() const {
  return due() && (first_ || seldom_.due(Clock::now() - put_off_max));
}

void AuditPass::prompt() {
  seldom_.prompt();
  walk_prompted_ = true;
  walked_all_ = false;
}

std::optional<Round::Unreadable> AuditPass::step(const Position& cursor,
                                                 const std::optional<Mark>& window_start) {
  switch (step_) {
    case Step::newest: return look_at_newest(cursor, window_start);
    case Step::walk: return walk_on(cursor, window_start);
    case Step::seal: seal(window_start); break;
  }
  step_ = Step::newest;
  return std::nullopt;
}

void AuditPass::end_turn() {
  first_ = false;
  seldom_.looked(Clock::now(), duty_cycle * std::exchange(took_, {}), walked_all_);
}

std::optional<Round::Unreadable> AuditPass::look_at_newest(
    const Position& cursor, const std::optional<Mark>& window_start) {
  step_ = Step::walk;
  refuse_ids_begun_again(cursor);
  const Bound up_to =
      window_start ? Bound{*window_start, std::nullopt} : Bound{cursor.created_at_us, cursor.id};
  const auto range = late_rows_.newest(up_to, step_rows);
  return range ? judge(late_rows_, *range, cursor) : std::nullopt;
}

/// One step at least in a turn: where statements are slow the walk goes on too.
std::optional<Round::Unreadable> AuditPass::walk_on(const Position& cursor,
                                                    const std::optional<Mark>& window_start) {
  const auto began = Clock::now();
  const auto range = walker().next(walked_, window_start, step_rows);
  if (!range) {
    walked_ = -1;
    if (walk_++ < former_.size()) return std::nullopt;
    walked_all_ = !std::exchange(walk_prompted_, false);
    begin_walk();
    step_ = Step::seal;
    return std::nullopt;
  }
  if (auto late = judge(walker(), *range, cursor)) return late;
  walked_ = range->last;
  if (took_ + (Clock::now() - began) >= turn_max) step_ = Step::seal;
  return std::nullopt;
}

/// With one row more than were noted, and some to name, late ones cannot hide behind delivered
/// ones.
std::optional<Round::Unreadable> AuditPass::judge(LateRows& rows, const NotedRange& range,
                                                  const Position& cursor) {
  const auto late = rows.find(range, range.rows + late_max, late_max);
  if (late.empty()) return std::nullopt;
  return Round::Unreadable{late.front().id, HaltReason::late_row, late_text(late, cursor, config_)};
}

/// Buckets of before a recut hold the rows of a former lane, of which ours are some.
void AuditPass::begin_walk() {
  walk_ = 0;
  former_.clear();
  auto ours = table_;
  if (lane_.lanes > 1) {
    ours.where = "(" + table_.where + ") AND " +
                 fill(sql::table::lane_filter, {{"key", table_.key},
                                                {"lanes", std::to_string(lane_.lanes)},
                                                {"lane", std::to_string(lane_.lane)}});
  }
  for (const auto& row :
       connection_.run(sql::auditor::former_lanes, {lane_.process, std::to_string(lane_.lanes)})) {
    former_.emplace_back(
        connection_, ours, config_.order_by,
        LaneId{lane_.process, row["lane"].as<unsigned>(), row["lanes"].as<unsigned>()});
  }
}

/// TRUNCATE … RESTART IDENTITY, refilled past the cursor: the rows up to it have ids that were
/// delivered, so only what else is known of those rows tells them apart.
void AuditPass::refuse_ids_begun_again(const Position& cursor) {
  if (began_again_.empty()) return;
  const auto last = std::exchange(last_cursor_, cursor);
  const auto found = connection_.run(
      began_again_, {lane_.process, std::to_string(lane_.lane),
                     last ? std::optional(timestamp_text(last->created_at_us)) : std::nullopt,
                     last ? std::optional(last->id) : std::nullopt});
  if (found.empty()) return;
  const auto row = [&](const char* column) { return found[0][column].as<std::string>(); };
  throw SourceBroken(
      HaltReason::cursor_ahead,
      "ids of table " + table_.name + " began again: its row " + row("id") + " was created at " +
          row("created_at") + ", the row delivered under that id at " + row("delivered_at") +
          ". Rows up to the cursor (" + cursor.id +
          ") were not delivered. Let the ids go on above it, or take the process out "
          "of seriatim.cursor to begin at the first row");
}

/// Inside the window ids are needed, whatever their number.
void AuditPass::seal(const std::optional<Mark>& window_start) {
  connection_.run(sql::auditor::seal_buckets,
                  {lane_.process, std::to_string(lane_.lane),
                   std::to_string(config_.audit_window.count()), std::to_string(ids_max),
                   window_start ? std::optional(timestamp_text(*window_start)) : std::nullopt,
                   std::to_string(sealed_at_once), std::to_string(sealed_rows_max),
                   std::to_string(sealed_rows_at_once)});
}

}  // namespace seriatim::postgres

#include "postgres/auditor/audit_pass.hpp"

#include <utility>

#include "postgres/store/former_lanes.hpp"
#include "postgres/table/ids_again.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/auditor.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::uint64_t step_rows = 1'000;

constexpr std::uint64_t ids_max = 1'000'000;  ///< kept a lane, before the audit window is over
constexpr std::uint64_t sealed_rows_max = 262'144;  ///< in one sealed bucket
constexpr unsigned sealed_at_once = 256;            ///< buckets in one step …
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
  const auto count =
      (late.size() >= late_reported_max ? "at least " : "") + std::to_string(late.size());
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
      late_rows_(connection, table, lane) {
  if (config.order_by == OrderBy::id) {
    began_again_ = statement_for(sql::auditor::began_again_by_id, table, lane);
  }
}

std::optional<AuditFinding> AuditPass::check_newest(const Place& place) {
  if (!began_again_.empty()) {
    const auto last = std::exchange(last_cursor_, place.cursor);
    const auto check = [this, last](const Place&) { return ids_begun_again(last); };
    if (auto found = made(check, place)) return found;
  }
  const Bound up_to = place.window_start ? Bound{*place.window_start, std::nullopt}
                                         : Bound{place.cursor.created_at_us, place.cursor.id};
  const auto range = late_rows_.newest(up_to, step_rows);
  if (!range) return std::nullopt;
  return made([this, range](const Place& now) { return late_in(late_rows_, *range, now); }, place);
}

std::optional<AuditFinding> AuditPass::walk_on(const Place& place) {
  if (complete_) return std::nullopt;
  if (walk_ == 0 && walked_ < 0) {
    prompted_ = false;
    looked_at_ = -1;
    read_former_lanes();
    const auto below_horizon = [this](const Place& now) {
      return named_late(late_rows_.below_horizon(late_reported_max), now);
    };
    if (auto found = made(below_horizon, place)) return found;
  }
  const auto range = walker().next(walked_, place.window_start, step_rows);
  if (range) {
    walked_ = range->last;
    if (walk_ == 0) looked_at_ = walked_;
    const auto check = [this, range, walk = walk_](const Place& now) {
      return late_in(walk == 0 ? late_rows_ : former_[walk - 1], *range, now);
    };
    return made(check, place);
  }
  walked_ = -1;
  if (walk_ == 0) looked_at_ = INT64_MAX;
  if (walk_++ < former_.size()) return std::nullopt;
  walk_ = 0;
  complete_ = !prompted_;
  walks_ += 1;
  return std::nullopt;
}

std::optional<AuditFinding> AuditPass::check_again(const Place& place) {
  return found_by_ ? found_by_(place) : std::nullopt;
}

void AuditPass::prompt() {
  prompted_ = true;
  complete_ = false;
}

std::optional<AuditFinding> AuditPass::made(Check check, const Place& place) {
  auto found = check(place);
  if (found) found_by_ = std::move(check);
  return found;
}

std::optional<AuditFinding> AuditPass::late_in(Recount& rows, const NotedRange& range,
                                               const Place& place) {
  return named_late(rows.not_delivered(range, late_reported_max).late, place);
}

std::optional<AuditFinding> AuditPass::named_late(const std::vector<Position>& late,
                                                  const Place& place) const {
  if (late.empty()) return std::nullopt;
  return AuditFinding{HaltReason::late_row, late.front().id,
                      late_text(late, place.cursor, config_)};
}

/// Buckets of before a repartition hold the rows of a former lane, of which ours are some.
void AuditPass::read_former_lanes() {
  former_.clear();
  for (const auto& lane : former_lanes(connection_, lane_)) {
    former_.emplace_back(connection_, rows_of(table_, lane_), lane);
  }
}

/// TRUNCATE … RESTART IDENTITY, refilled past the cursor: the rows up to it have ids that were
/// delivered, so only what else is known of those rows distinguishes them. `last`: the cursor at
/// the check before.
std::optional<AuditFinding> AuditPass::ids_begun_again(const std::optional<Position>& last) {
  const auto found = connection_.run(
      began_again_, {lane_.process, std::to_string(lane_.lane),
                     last ? std::optional(timestamp_text(last->created_at_us)) : std::nullopt,
                     last ? std::optional(last->id) : std::nullopt, std::to_string(lane_.lanes)});
  if (found.empty()) return std::nullopt;
  const auto row = [&](const char* column) { return found[0][column].as<std::string>(); };
  return AuditFinding{
      HaltReason::cursor_ahead,
      {},
      ids_again_text(table_, lane_.process,
                     "its row " + row("id") + " was created at " + row("created_at") +
                         ", the newest row delivered there at " + row("delivered_at"))};
}

/// Inside the window ids are needed, whatever their number.
bool AuditPass::seal(const Place& place) {
  if (looked_at_ < 0) return false;
  const auto& window_start = place.window_start;
  const auto sealed =
      connection_.run(sql::auditor::seal_buckets,
                      {lane_.process, std::to_string(lane_.lane),
                       std::to_string(config_.audit_window.count()), std::to_string(ids_max),
                       window_start ? std::optional(timestamp_text(*window_start)) : std::nullopt,
                       std::to_string(sealed_at_once), std::to_string(sealed_rows_max),
                       std::to_string(sealed_rows_at_once), std::to_string(looked_at_)});
  return sealed[0][0].as<std::uint64_t>() > 0;
}

}  // namespace seriatim::postgres

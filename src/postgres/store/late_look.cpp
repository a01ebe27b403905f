#include "postgres/store/late_look.hpp"

#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

/// A look is followed by none for so many times its length while there are rows to deliver: each
/// poll looks while that is cheap, and a wide window takes a tenth of the time at most.
constexpr int duty_cycle = 10;

}  // namespace

/// The window begins where ids are known: what was delivered before there was a ledger, or before
/// its ids were given up, cannot be told from what is late.
LateWindow read_late_window(Connection& connection, const LaneId& lane, const Position& cursor,
                            milliseconds lookback) {
  const auto row =
      connection.run(sql::store::delivery_window,
                     {lane.process, std::to_string(lane.lane), timestamp_text(cursor.created_at_us),
                      std::to_string(lookback.count())})[0];
  LateWindow window;
  window.looked_at = row["looked_us"].as<Mark>();
  window.start = row["start_us"].as<Mark>();
  window.range.first = row["first"].as<std::int64_t>();
  window.range.last = INT64_MAX;
  window.range.after = Bound{window.start, std::nullopt};
  if (!row["noted_id"].is_null() && row["noted_us"].as<Mark>() >= window.start) {
    window.range.after = Bound{row["noted_us"].as<Mark>(), row["noted_id"].as<std::string>()};
  }
  window.range.up_to = Bound{cursor.created_at_us, cursor.id};
  return window;
}

LateLook::LateLook(Connection& connection, const Table& table, const SourceConfig& config,
                   const LaneId& lane)
    : connection_(connection),
      lane_(lane),
      lookback_(config.lookback),
      late_rows_(connection, table, OrderBy::created_at, lane),
      reader_(connection, table, config, lane) {}

Round LateLook::first(const std::optional<Position>& cursor, unsigned rows_max) {
  looked_ = !cursor;
  if (!cursor) return {};
  window_ = read_late_window(connection_, lane_, *cursor, lookback_);
  // The cursor may have been taken back since this session looked.
  const auto looked = std::min(looked_at_.value_or(mark_min), cursor->created_at_us);
  looked_at_ = std::max(window_.looked_at, looked);
  return found_ || Clock::now() >= next_look_ ? look(*cursor, rows_max) : Round{};
}

void LateLook::started() {
  looked_at_ = looked_at();
  found_ = false;
}

Round LateLook::last(const Position& cursor, unsigned rows_max) {
  return looked_ ? Round{} : look(cursor, rows_max);
}

Round LateLook::look(const Position& cursor, unsigned rows_max) {
  looked_ = true;
  const auto began = Clock::now();
  const auto late = late_rows_.find(window_.range, INT64_MAX, rows_max);
  const auto ended = Clock::now();
  const bool complete = late.size() < rows_max;
  next_look_ = complete ? ended + duty_cycle * (ended - began) : ended;
  found_ = !late.empty();
  if (!found_) {
    looked_at_ = cursor.created_at_us;
    return {};
  }
  std::vector<std::string> ids;
  for (const auto& row : late) ids.push_back(row.id);
  auto batch = reader_.read_ids(ids, cursor, rows_max);
  if (complete && batch.records.size() == late.size()) soon_ = cursor.created_at_us;
  return {std::move(batch.records), false, {}, std::move(batch.unreadable)};
}

}  // namespace seriatim::postgres

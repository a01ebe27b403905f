#include "postgres/store/late_check.hpp"

#include <utility>

#include "postgres/reader/fence_reader.hpp"
#include "postgres/table/long_transaction.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

/// A check is followed by none for so many times its length while there are rows to deliver: each
/// poll checks while that is cheap, and a wide window takes a tenth of the time at most.
constexpr int duty_cycle = 10;
/// A narrow check comes with every poll, whatever it takes. One that a long transaction makes wide
/// (narrow_width_max) does so only while it takes no longer than this.
constexpr milliseconds wide_check_max{1};
/// Seen: 1 of 7 500 rows was stamped more than 5 ms before its transaction could be seen.
constexpr milliseconds stamp_margin{100};

/// Of more rows that were committed together the first ones in the order of their ids go out first.
constexpr unsigned late_fetched_max = 10'000;

bool is_wide(OrderKey from, const Position& cursor) {
  return cursor.created_at_us - from > std::chrono::microseconds(narrow_width_max).count();
}

}  // namespace

/// The window begins where ids are known: what was delivered before there was a ledger, or before
/// its ids were given up, cannot be distinguished from what is late.
LateWindow read_late_window(Connection& connection, const LaneId& lane, const Position& cursor,
                            milliseconds lookback, const std::optional<OrderKey>& not_before) {
  const auto rows =
      connection.run(sql::store::delivery_window,
                     {lane.process, std::to_string(lane.lane), timestamp_text(cursor.created_at_us),
                      std::to_string(lookback.count()),
                      not_before ? std::optional(timestamp_text(*not_before)) : std::nullopt});
  if (rows.empty()) throw SessionLost("the cursor row is gone");
  const auto row = rows[0];
  LateWindow window;
  window.looked_at = row["looked_us"].as<OrderKey>();
  window.start = row["start_us"].as<OrderKey>();
  window.range.first = row["first"].as<std::int64_t>();
  window.range.last = INT64_MAX;
  window.range.after = Bound{window.start, std::nullopt};
  if (!row["noted_id"].is_null() && row["noted_us"].as<OrderKey>() >= window.start) {
    window.range.after = Bound{row["noted_us"].as<OrderKey>(), row["noted_id"].as<std::string>()};
  }
  window.range.up_to = Bound{cursor.created_at_us, cursor.id};
  return window;
}

LateCheck::LateCheck(Connection& connection, const Table& table, const SourceConfig& config,
                     const LaneId& lane, WrittenOrder& written_order)
    : connection_(connection),
      lane_(lane),
      written_order_(written_order),
      lookback_(config.lookback),
      late_rows_(connection, table, lane),
      reader_(connection, table, config, lane) {}

/// The clock is read before the transactions.
void LateCheck::see_transactions() {
  const auto [clock, open, rows] = read_clock_and_transactions(connection_);
  seen_ = transactions_.settle(clock, open);
}

/// now() is drawn when a statement arrives, before its transaction can be seen.
std::optional<OrderKey> LateCheck::narrow_start() const {
  if (!bound_ || *bound_ == order_key_min) return std::nullopt;
  return *bound_ - std::chrono::microseconds(stamp_margin).count();
}

LateCheck::Late LateCheck::run(const std::optional<Position>& cursor, unsigned rows_max,
                               bool idle) {
  if (!cursor) return {};
  const auto narrow = narrow_start();
  const bool complete = found_ || idle || !narrow || Clock::now() >= next_check_;
  if (!complete && is_wide(*narrow, *cursor) && Clock::now() < next_wide_check_) return {};
  const auto window =
      read_late_window(connection_, lane_, *cursor, lookback_, complete ? std::nullopt : narrow);
  // The cursor may have been taken back since this session checked.
  const auto checked = std::min(looked_at_.value_or(order_key_min), cursor->created_at_us);
  looked_at_ = std::max(window.looked_at, checked);
  const auto began = Clock::now();
  auto late = late_rows_.find(window.range, INT64_MAX, late_fetched_max);
  const auto took = Clock::now() - began;
  bound_ = seen_;
  if (complete) next_check_ = began + took + duty_cycle * took;
  if (took > wide_check_max) next_wide_check_ = began + took + duty_cycle * took;
  found_ = !late.empty();
  if (!found_) {
    if (complete) looked_at_ = cursor->created_at_us;
    return {};
  }
  written_order_.sort(late);
  std::vector<std::string> ids;
  for (const auto& row : late) {
    if (ids.size() < rows_max) ids.push_back(row.id);
  }
  auto batch = reader_.read_ids(ids, cursor, rows_max);
  const bool all = late.size() <= rows_max && batch.records.size() == late.size();
  if (!all) next_check_ = {};  // the others are behind a narrow check by then
  if (complete && all) soon_ = cursor->created_at_us;
  return {std::move(batch.records), std::move(batch.unreadable), all};
}

void LateCheck::started() {
  looked_at_ = looked_at();
  found_ = false;
}

}  // namespace seriatim::postgres

#include "postgres/store/late_look.hpp"

#include <algorithm>
#include <utility>

#include "postgres/store/id_list.hpp"
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
LateWindow read_late_window(Connection& connection, const LaneId& lane,
                            const std::optional<Position>& cursor, milliseconds lookback,
                            const std::optional<Mark>& looked_at) {
  const auto row =
      connection.run(sql::store::delivery_window,
                     {lane.process, std::to_string(lane.lane),
                      looked_at ? std::optional(timestamp_text(*looked_at)) : std::nullopt,
                      cursor ? std::optional(timestamp_text(cursor->created_at_us)) : std::nullopt,
                      std::to_string(lookback.count())})[0];
  LateWindow window;
  window.planned_ids = ids_from_json(row["planned_ids"].as<std::string>());
  window.sequence = row["sequence"].as<std::uint64_t>();
  if (!cursor) return window;
  window.looked_at = row["looked_us"].as<Mark>();
  window.start = row["start_us"].as<Mark>();
  window.range.first = row["first"].as<std::int64_t>();
  window.range.last = INT64_MAX;
  window.range.after = Bound{window.start, std::nullopt};
  if (!row["noted_id"].is_null() && row["noted_us"].as<Mark>() >= window.start) {
    window.range.after = Bound{row["noted_us"].as<Mark>(), row["noted_id"].as<std::string>()};
  }
  window.range.up_to = Bound{cursor->created_at_us, cursor->id};
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
  planned_.reset();
  late_ids_.clear();
  looked_ = !cursor;
  window_ = read_late_window(connection_, lane_, cursor, lookback_, looked_at_);
  if (cursor) {
    looked_at_ = window_.looked_at;
    window_start_ = window_.start;
  }
  if (!window_.planned_ids.empty()) {
    auto round = read(window_.planned_ids, cursor, rows_max);
    if (!round.records.empty() || round.unreadable) return round;
  }
  const bool due = cursor && (!found_.empty() || Clock::now() >= next_look_);
  return due ? look(*cursor, rows_max) : Round{};
}

Round LateLook::last(const std::optional<Position>& cursor, unsigned rows_max) {
  return looked_ ? Round{} : look(*cursor, rows_max);
}

Round LateLook::look(const Position& cursor, unsigned rows_max) {
  looked_ = true;
  const auto began = Clock::now();
  const auto late = late_rows_.find(window_.range, INT64_MAX, rows_max);
  const auto ended = Clock::now();
  next_look_ = ended + duty_cycle * (ended - began);
  found_.clear();
  std::vector<std::string> ids;
  for (const auto& row : late) {
    ids.push_back(row.id);
    found_.insert(row.id);
  }
  const bool complete = late.size() < rows_max;
  looked_at_soon_ = complete ? std::optional(cursor.created_at_us) : std::nullopt;
  if (late.empty()) {
    looked_at_ = cursor.created_at_us;
    return {};
  }
  return read(ids, cursor, rows_max);
}

Round LateLook::read(const std::vector<std::string>& ids, const std::optional<Position>& cursor,
                     unsigned rows_max) {
  auto batch = reader_.read_ids(ids, cursor, rows_max);
  return {std::move(batch.records), false, {}, std::move(batch.unreadable)};
}

/// A batch started before keeps its plan, of which this round may be the first part only.
void LateLook::plan(const Round& round) {
  const bool started_before = !window_.planned_ids.empty() && !round.records.empty() &&
                              std::find(window_.planned_ids.begin(), window_.planned_ids.end(),
                                        round.records.front().id()) != window_.planned_ids.end();
  late_ids_.clear();
  std::vector<std::string> ids;
  for (const auto& record : round.records) {
    ids.push_back(record.id());
    if (record.late) late_ids_.insert(record.id());
  }
  if (started_before) {
    planned_.reset();
  } else {
    planned_ = std::move(ids);
  }
}

void LateLook::advanced(const std::vector<std::string>& done) {
  for (const auto& id : done) found_.erase(id);
  if (found_.empty() && looked_at_soon_) looked_at_ = std::exchange(looked_at_soon_, std::nullopt);
}

}  // namespace seriatim::postgres

#include "postgres/store/old_rows.hpp"

#include <algorithm>
#include <climits>

#include "postgres/store/lane_rows.hpp"
#include "postgres/store/recount.hpp"
#include "postgres/wire/shell_word.hpp"
#include "sql/store.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

/// Of the ledger, compared in one statement.
constexpr std::uint64_t rows_about = 100'000;

}  // namespace

std::optional<std::string> former_filter(Connection& connection, const Table& table,
                                         const std::vector<IdentityChange>& changes) {
  const auto* filter = filter_change(changes);
  if (filter == nullptr || filter->noted.starts_with("md5 ")) return std::nullopt;
  try {
    connection.run(
        statement_for(sql::table::expression_works, table, {}, {{"expression", filter->noted}}));
    return filter->noted;
  } catch (const SourceBroken&) {  // it names a column that is gone
    return std::nullopt;
  }
}

std::vector<Position> find_old_rows(Connection& connection, const Table& table, const LaneId& lane,
                                    const std::optional<std::string>& former,
                                    std::size_t rows_max) {
  Recount recount(connection, table, lane);
  std::vector<Position> old;
  const auto room = [&] {
    return static_cast<unsigned>(std::min<std::size_t>(rows_max - old.size(), INT_MAX));
  };
  const auto take = [&](const std::vector<Position>& some) {
    old.insert(old.end(), some.begin(), some.end());
  };
  for (const auto& row : read_lanes(connection, lane.process)) {
    if (row.id.lane != lane.lane || !row.cursor.position) continue;
    take(recount.below_horizon(room()));
    if (former && room() > 0) {
      for (const auto& found : connection.run(
               statement_for(sql::store::old_rows_in_sealed, table, lane, {{"former", *former}}),
               {lane.process, std::to_string(lane.lane), std::to_string(lane.lanes),
                std::to_string(room())})) {
        old.push_back(position_from(found, "created_at_us", "id").value());
      }
    }
    std::int64_t number = -1;
    while (room() > 0) {
      const auto range = recount.next(number, std::nullopt, rows_about);
      if (!range) break;
      take(recount.not_delivered(*range, room()).late);
      number = range->last;
    }
    const auto& cursor = *row.cursor.position;
    const auto open = recount.newest({cursor.created_at_us, cursor.id}, 0);
    if (open && room() > 0) take(recount.not_delivered(*open, room()).late);
  }
  return old;
}

std::string old_rows_text(const IdentityChange& filter, const std::string& process,
                          const std::string& rows) {
  return "the filter (`where`, `ignore`) was: " + filter.noted + ", and is: " + filter.seen + "; " +
         rows +
         " match now, and were not delivered; nothing is sent until you decide: seriatim "
         "adopt " +
         shell_word(process) + " --source-changed --old-rows skip|deliver --reason TEXT";
}

}  // namespace seriatim::postgres

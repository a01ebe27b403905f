#include "postgres/store/old_rows.hpp"

#include <algorithm>
#include <climits>

#include "core/fence.hpp"
#include "postgres/store/former_lanes.hpp"
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
  const auto* filter = find_change(changes, "filter");
  if (filter == nullptr || filter->noted.starts_with("md5 ")) return std::nullopt;
  try {
    connection.run(
        statement_for(sql::table::expression_works, table, {}, {{"expression", filter->noted}}));
    return filter->noted;
  } catch (const SourceBroken&) {  // it names a column that is gone
    return std::nullopt;
  }
}

namespace {

class OldRowSearch {
 public:
  OldRowSearch(Connection& connection, const Table& table, const LaneId& lane,
               const std::optional<std::string>& former, std::size_t rows_max)
      : connection_(connection), table_(table), lane_(lane), former_(former), rows_max_(rows_max) {}

  std::vector<Position> find(const Position& cursor) {
    Recount recount(connection_, table_, lane_);
    take(recount.below_horizon(room()));
    search_closed(recount, lane_);
    for (const auto& lane : former_lanes(connection_, lane_)) {
      Recount of_former(connection_, rows_of(table_, lane_), lane);
      search_closed(of_former, lane);
    }
    const auto open = recount.newest({cursor.created_at_us, cursor.id}, 0);
    if (open && room() > 0) take(recount.not_delivered(*open, room()).late);
    const auto order = table_.by_id ? OrderBy::id : OrderBy::created_at;
    std::sort(found_.begin(), found_.end(), [order](const Position& row, const Position& other) {
      return core::comes_after(other, row, order);
    });
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  /// Buckets of this lane or of a former one.
  void search_closed(Recount& recount, const LaneId& lane) {
    if (former_ && room() > 0) search_sealed(lane);
    std::int64_t number = -1;
    while (room() > 0) {
      const auto range = recount.next(number, std::nullopt, rows_about);
      if (!range) break;
      take(recount.not_delivered(*range, room()).late);
      number = range->last;
    }
  }

  void search_sealed(const LaneId& lane) {
    for (const auto& row : connection_.run(
             statement_for(sql::store::old_rows_in_sealed, table_, lane,
                           {{"former", *former_}, {"ours", lane_filter(table_, lane_)}}),
             {lane.process, std::to_string(lane.lane), std::to_string(lane.lanes),
              std::to_string(room())})) {
      found_.push_back(position_from(row, "created_at_us", "id").value());
    }
  }

  [[nodiscard]] unsigned room() const {
    return static_cast<unsigned>(std::min<std::size_t>(rows_max_ - found_.size(), INT_MAX));
  }
  void take(const std::vector<Position>& some) {
    found_.insert(found_.end(), some.begin(), some.end());
  }

  Connection& connection_;
  const Table& table_;
  const LaneId& lane_;
  const std::optional<std::string>& former_;
  std::size_t rows_max_;
  std::vector<Position> found_;
};

}  // namespace

std::vector<Position> find_old_rows(Connection& connection, const Table& table, const LaneId& lane,
                                    const std::optional<Position>& cursor,
                                    const std::optional<std::string>& former,
                                    std::size_t rows_max) {
  if (!cursor) return {};
  return OldRowSearch(connection, table, lane, former, rows_max).find(*cursor);
}

std::size_t count_old_rows(Connection& connection, const Table& table, const std::string& process,
                           const std::vector<IdentityChange>& changes) {
  const auto former = former_filter(connection, table, changes);
  std::size_t rows = 0;
  for (const auto& lane : read_lanes(connection, process)) {
    rows += find_old_rows(connection, table, lane.id, lane.cursor.position, former, INT_MAX).size();
  }
  return rows;
}

std::string counted_rows(std::size_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

std::string old_rows_text(const IdentityChange& filter, const std::string& process,
                          const std::string& rows) {
  return "the filter (`where`, `ignore`) was changed: it takes " + rows +
         " now, which nobody has delivered. Nothing is sent until you decide: seriatim adopt " +
         shell_word(process) +
         " --source-changed --old-rows skip (or deliver) --reason TEXT. It was: " + filter.noted +
         ", and is: " + filter.seen;
}

}  // namespace seriatim::postgres

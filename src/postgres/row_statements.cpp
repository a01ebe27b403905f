#include "postgres/row_statements.hpp"

#include "seriatim_sql.hpp"

namespace seriatim::postgres {

namespace {

std::string compose(const Table& table, const LaneId& lane, OrderBy order, BatchBound bound,
                    bool from_the_start, unsigned rows_max, std::string_view alone) {
  const bool by_id = order == OrderBy::id;
  const auto after =
      statement_for(from_the_start ? sql::from_the_start : sql::after_cursor, table, lane);
  const auto range = statement_for(
      by_id ? sql::range_by_id : sql::range_by_created_at, table, lane,
      {{"after_cursor", after}, {"alone", alone}, {"rows_max", std::to_string(rows_max)}});
  return fill(bound == BatchBound::share ? sql::rows_within_share : sql::rows_within_bytes,
              {{"range", range}, {"place", by_id ? "place" : "place, tie"}});
}

}  // namespace

std::string rows_in_range(const Table& table, const LaneId& lane, OrderBy order, BatchBound bound,
                          bool from_the_start, unsigned rows_max) {
  return compose(table, lane, order, bound, from_the_start, rows_max, "true");
}

std::string row_in_range(const Table& table, const LaneId& lane, OrderBy order,
                         bool from_the_start) {
  return compose(table, lane, order, BatchBound::bytes, from_the_start, 1,
                 statement_for(sql::this_row_alone, table, lane));
}

std::string rows_of_ids(const Table& table, const LaneId& lane, unsigned rows_max) {
  const auto range =
      statement_for(sql::range_of_ids, table, lane, {{"rows_max", std::to_string(rows_max)}});
  return fill(sql::rows_within_bytes, {{"range", range}, {"place", "place"}});
}

}  // namespace seriatim::postgres

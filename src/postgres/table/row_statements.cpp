#include "postgres/table/row_statements.hpp"

#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

std::string_view bounds_of(bool by_id, const RowShape& shape) {
  if (by_id) return sql::table::between_ids;
  return shape.from_the_start ? sql::table::from_the_start : sql::table::after_cursor;
}

/// Columns behind those of a row.
std::string more_of(const Table& table, const LaneId& lane, const RowShape& shape) {
  std::string more;
  if (shape.bound == BatchBound::share) more += sql::table::no_measures;
  if (shape.with_written) more += sql::table::written_when_read;
  if (table.by_id) more += ", " + statement_for(sql::table::began_again, table, lane);
  return more;
}

std::string range_of(const Table& table, const LaneId& lane, const RowShape& shape,
                     std::string_view alone) {
  return statement_for(sql::table::range, table, lane,
                       {{"bounds", statement_for(bounds_of(table.by_id, shape), table, lane)},
                        {"alone", alone},
                        {"rows_max", std::to_string(shape.rows_max)}});
}

}  // namespace

std::string rows_in_range(const Table& table, const LaneId& lane, const RowShape& shape) {
  return fill(shape.bound == BatchBound::share ? sql::table::rows_within_share
                                               : sql::table::rows_within_bytes,
              {{"range", range_of(table, lane, shape, "true")},
               {"place", table.by_id ? "place" : "place, tie"},
               {"more", more_of(table, lane, shape)}});
}

std::string row_in_range(const Table& table, const LaneId& lane, bool from_the_start) {
  const auto alone = table.by_id ? "true" : statement_for(sql::table::this_row_alone, table, lane);
  const RowShape one{BatchBound::bytes, from_the_start, 1, false};
  return fill(sql::table::rows_within_bytes, {{"range", range_of(table, lane, one, alone)},
                                              {"place", table.by_id ? "place" : "place, tie"},
                                              {"more", ""}});
}

std::string rows_of_ids(const Table& table, const LaneId& lane, unsigned rows_max) {
  const auto range = statement_for(sql::table::range_of_ids, table, lane,
                                   {{"rows_max", std::to_string(rows_max)}});
  return fill(sql::table::rows_within_bytes, {{"range", range}, {"place", "place"}, {"more", ""}});
}

}  // namespace seriatim::postgres

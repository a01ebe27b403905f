#include "postgres/table/row_statements.hpp"

#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

/// Not where planning with the values in sight is worth its time: it leaves partitions out, and it
/// keeps a statement with a condition of the user's, or of a lane, from reading all rows behind the
/// cursor and sorting them.
bool hides_values(const Table& table, const LaneId& lane) {
  return table.is_whole_for(lane) && !table.partitioned;
}

std::string compose(const Table& table, const LaneId& lane, OrderBy order, const RowShape& shape,
                    std::string_view alone) {
  const bool by_id = order == OrderBy::id;
  const auto form = hides_values(table, lane) ? sql::table::hidden_value : sql::table::value;
  const auto value = [&](const char* parameter, std::string_view type) {
    return fill(form, {{"parameter", parameter}, {"type", type}});
  };
  const auto after = statement_for(
      shape.from_the_start ? sql::table::from_the_start : sql::table::after_cursor, table, lane,
      {{"after_at", value("$3", "timestamptz")}, {"after_id", value("$4", table.id_type)}});
  const auto range =
      statement_for(by_id ? sql::table::range_by_id : sql::table::range_by_created_at, table, lane,
                    {{"after_cursor", after},
                     {"settled", value("$5", "timestamptz")},
                     {"floor", value("$6", "timestamptz")},
                     {"first", value("$3", "bigint")},
                     {"last", value("$4", "bigint")},
                     {"alone", alone},
                     {"rows_max", std::to_string(shape.rows_max)}});
  return fill(shape.bound == BatchBound::share ? sql::table::rows_within_share
                                               : sql::table::rows_within_bytes,
              {{"range", range},
               {"place", by_id ? "place" : "place, tie"},
               {"written", shape.tells_written ? sql::table::written_when_read : ""}});
}

}  // namespace

std::string rows_in_range(const Table& table, const LaneId& lane, OrderBy order,
                          const RowShape& shape) {
  return compose(table, lane, order, shape, "true");
}

std::string row_in_range(const Table& table, const LaneId& lane, OrderBy order,
                         bool from_the_start) {
  return compose(table, lane, order, {BatchBound::bytes, from_the_start, 1, false},
                 statement_for(sql::table::this_row_alone, table, lane));
}

std::string rows_of_ids(const Table& table, const LaneId& lane, unsigned rows_max) {
  const auto range = statement_for(sql::table::range_of_ids, table, lane,
                                   {{"rows_max", std::to_string(rows_max)}});
  return fill(sql::table::rows_within_bytes, {{"range", range}, {"place", "place"}});
}

}  // namespace seriatim::postgres

#include "postgres/table/row_range.hpp"

#include "sql/table.hpp"

namespace seriatim::postgres {

std::string range_statement(std::string_view sql, const Table& table, OrderBy order,
                            const LaneId& lane, const RangeEnds& ends, const Placeholders& more) {
  const bool by_id = order == OrderBy::id;
  const auto within =
      statement_for(by_id ? sql::table::within_by_id : sql::table::within_by_created_at, table, {},
                    {{"from_at", ends.from_at},
                     {"from_id", ends.from_id},
                     {"to_at", ends.to_at},
                     {"to_id", ends.to_id}});
  const auto place = "t." + (by_id ? table.id : table.created_at + ", t." + table.id);
  const auto place_of_late = by_id ? "late.id::bigint" : "late.at, late.id::" + table.id_type;
  Placeholders all{{"within", within}, {"place", place}, {"place_of_late", place_of_late}};
  all.insert(all.end(), more.begin(), more.end());
  return statement_for(sql, table, lane, all);
}

std::string not_after(const Table& table, OrderBy order, std::string_view at, std::string_view id,
                      std::string_view bound_at, std::string_view bound_id) {
  return statement_for(
      order == OrderBy::id ? sql::table::not_after_by_id : sql::table::not_after_by_created_at,
      table, {}, {{"at", at}, {"place_id", id}, {"bound_at", bound_at}, {"bound_id", bound_id}});
}

}  // namespace seriatim::postgres

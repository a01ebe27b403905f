#include "postgres/table/waiting_rows.hpp"

#include "postgres/wire/sql_text.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

WaitingRows::WaitingRows(Connection& connection, const Table& table, const LaneId& lane)
    : connection_(connection),
      first_(statement_for(sql::table::first_row, table, lane)),
      count_(statement_for(sql::table::count, table, lane)),
      exists_(statement_for(sql::table::row_exists, table, lane)) {}

Params WaitingRows::cursor_and(const std::optional<Position>& after,
                               std::optional<std::string> last) const {
  const auto id = after ? std::optional(after->id) : std::nullopt;
  const auto at = after ? std::optional(timestamp_text(after->created_at_us)) : std::nullopt;
  return {at, id, std::move(last)};
}

std::optional<WaitingRows::Row> WaitingRows::first(const std::optional<Position>& after) {
  const auto rows = connection_.run(first_, cursor_and(after, std::nullopt));
  if (rows.empty()) return std::nullopt;
  Row row{rows[0]["id"].as<std::string>(""), std::nullopt};
  if (!rows[0]["created_at_us"].is_null()) {
    row.created_at_us = rows[0]["created_at_us"].as<std::int64_t>();
  }
  return row;
}

std::uint64_t WaitingRows::count(const std::optional<Position>& after, std::uint64_t rows_max) {
  return connection_.run(count_, cursor_and(after, std::to_string(rows_max)))[0][0]
      .as<std::uint64_t>();
}

bool WaitingRows::exists(const std::string& id) {
  return connection_.run(exists_, {id})[0][0].as<bool>();
}

}  // namespace seriatim::postgres

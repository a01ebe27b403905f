#include "postgres/table/waiting_rows.hpp"

#include <algorithm>
#include <vector>

#include "core/fence.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

WaitingRows::Row row_from(const pqxx::row& row) {
  WaitingRows::Row found{row["id"].as<std::string>(""), std::nullopt};
  if (!row["created_at_us"].is_null())
    found.created_at_us = row["created_at_us"].as<std::int64_t>();
  return found;
}

}  // namespace

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
  return row_from(rows[0]);
}

std::uint64_t WaitingRows::count(const std::optional<Position>& after, std::uint64_t rows_max) {
  return connection_.run(count_, cursor_and(after, std::to_string(rows_max)))[0][0]
      .as<std::uint64_t>();
}

bool WaitingRows::exists(const std::string& id) {
  return connection_.run(exists_, {id})[0][0].as<bool>();
}

namespace {

using Cursors = std::map<unsigned, std::optional<Position>>;

/// A place at or before each cursor; absent: the table's beginning. Texts of the same moment are
/// ordered by the server alone, so it is the moment before if several cursors share that.
std::optional<Position> place_before_all(const Cursors& cursors, const Table& table) {
  const auto order = table.by_id ? OrderBy::id : OrderBy::created_at;
  std::optional<Position> least;
  for (const auto& [lane, cursor] : cursors) {
    if (!cursor) return std::nullopt;
    if (!least || core::comes_after(*least, *cursor, order)) least = cursor;
  }
  const auto sharing = std::count_if(cursors.begin(), cursors.end(), [&](const auto& cursor) {
    return cursor.second->created_at_us == least->created_at_us;
  });
  if (!table.integer_id() && sharing > 1) --least->created_at_us;
  return least;
}

Params pass_from(const Cursors& cursors, const Table& table) {
  std::vector<std::string> lanes;
  std::vector<std::optional<std::string>> at, id;
  for (const auto& [lane, cursor] : cursors) {
    lanes.push_back(std::to_string(lane));
    at.push_back(cursor ? std::optional(timestamp_text(cursor->created_at_us)) : std::nullopt);
    id.push_back(cursor ? std::optional(cursor->id) : std::nullopt);
  }
  const auto start = place_before_all(cursors, table);
  return {start ? std::optional(timestamp_text(start->created_at_us)) : std::nullopt,
          start ? std::optional(start->id) : std::nullopt,
          std::to_string(pass_rows),
          array_text(lanes),
          nullable_array_text(at),
          nullable_array_text(id)};
}

}  // namespace

std::map<unsigned, LaneWaiting> count_lanes(Connection& connection, const Table& table,
                                            unsigned lanes, Cursors after) {
  const auto statement =
      statement_for(sql::table::count_lanes, table, {}, {{"lanes", std::to_string(lanes)}});
  std::map<unsigned, LaneWaiting> waiting;
  for (int pass = 0; pass < passes_max && !after.empty(); ++pass) {
    for (const auto& row : connection.run(statement, pass_from(after, table))) {
      const auto lane = row["lane"].as<unsigned>();
      auto& found = waiting[lane];
      found.rows = row["rows"].as<std::uint64_t>();
      found.more = row["more"].as<bool>();
      if (found.rows > 0) found.first = row_from(row);
      if (!found.more || row["reached"].as<bool>()) after.erase(lane);
    }
  }
  return waiting;
}

}  // namespace seriatim::postgres

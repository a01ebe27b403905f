#include "postgres/table/position_lookup.hpp"

#include "postgres/wire/sql_text.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

Position position_from(const pqxx::row& row) {
  return {row["created_at_us"].as<std::int64_t>(0), row["id"].as<std::string>()};
}

Params keyset(const std::optional<Position>& position) {
  if (!position) return {std::nullopt, std::nullopt};
  return {timestamp_text(position->created_at_us), position->id};
}

Params joined(Params first, const Params& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Of a jump: no more commits are to come that would fill buckets slowly.
constexpr unsigned bucket_rows = 4'096;

}  // namespace

PositionLookup::PositionLookup(Connection& connection, const Table& table, const LaneId& lane)
    : connection_(connection), lane_(lane), by_id_(table.by_id) {
  last_before_ = statement_for(sql::table::last_row_before, table, lane);
  between_ = statement_for(sql::table::rows_between, table, lane);
  jump_ = statement_for(sql::table::jump_rows, table, lane);
  first_id_since_ = statement_for(sql::table::first_id_since, table, lane);
}

std::optional<Position> PositionLookup::last_before(const Params& place) {
  const auto row = connection_.run(last_before_, place);
  return row.empty() ? std::nullopt : std::optional(position_from(row[0]));
}

std::optional<Position> PositionLookup::before_row(const Position& row) {
  return last_before(keyset(row));
}

std::optional<Position> PositionLookup::before_time(const std::string& time) {
  if (!by_id_) return last_before({time, std::nullopt});
  const auto first = connection_.run(first_id_since_, {time});
  return first.empty() ? at_end() : last_before({time, first[0]["id"].as<std::string>()});
}

std::optional<Position> PositionLookup::at_end() {
  return last_before(keyset(std::nullopt));
}

std::uint64_t PositionLookup::between(const std::optional<Position>& low,
                                      const std::optional<Position>& high) {
  if (!high) return 0;
  return connection_.run(between_, joined(keyset(low), keyset(high)))[0][0].as<std::uint64_t>();
}

std::uint64_t PositionLookup::jump(const std::optional<Position>& low, const Position& high) {
  const Params lane{lane_.process, std::to_string(lane_.lane)};
  const auto range = joined(keyset(low), keyset(high));
  return connection_.run(jump_, joined(joined(lane, range), {std::to_string(bucket_rows)}))[0][0]
      .as<std::uint64_t>();
}

Position place_of_row(Connection& connection, const Table& table, const std::string& id) {
  const auto row = connection.run(statement_for(sql::table::place_of_row, table, {}), {id});
  if (!row.empty()) return position_from(row[0]);
  throw Error("there is no row " + id + " in table " + table.name +
              " that this process reads; it may have been pruned or deleted. Nothing was changed");
}

}  // namespace seriatim::postgres

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Finds places in the order of a table, as people name them, for one lane's cursor.
class PositionLookup {
 public:
  PositionLookup(Connection& connection, const Table& table, const LaneId& lane);

  /// The lane's last row before a row, a time (ISO 8601) or, absent, the end of the table: where a
  /// cursor is that goes on from there. Nothing: before the first row.
  std::optional<Position> before_row(const Position& row);
  std::optional<Position> before_time(const std::string& time);
  std::optional<Position> at_end();

  /// The lane's rows after `low` up to and with `high`, counted.
  std::uint64_t between(const std::optional<Position>& low, const std::optional<Position>& high);
  /// The same, put into the ledger as set aside.
  std::uint64_t jump(const std::optional<Position>& low, const Position& high);

 private:
  std::optional<Position> last_before(const Params& place);

  Connection& connection_;
  LaneId lane_;
  bool by_id_;
  std::string last_before_;
  std::string between_;
  std::string jump_;
  std::string first_id_since_;
};

/// Where a row of a process is, whatever its lane. Error if there is no such row.
[[nodiscard]] Position place_of_row(Connection& connection, const Table& table,
                                    const std::string& id);

}  // namespace seriatim::postgres

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Rows of one lane after its cursor, settled or not: what people ask about.
class WaitingRows {
 public:
  WaitingRows(Connection& connection, const Table& table, const LaneId& lane);

  struct Row {
    std::string id;
    std::optional<std::int64_t> created_at_us;  ///< absent: NULL or infinite
  };
  /// The one row the lane delivers next, readable or not.
  std::optional<Row> first(const std::optional<Position>& after);
  /// Counted no further than `rows_max`.
  std::uint64_t count(const std::optional<Position>& after, std::uint64_t rows_max);
  /// Is there such a row in the table, wherever it is?
  bool exists(const std::string& id);

 private:
  Params cursor_and(const std::optional<Position>& after, std::optional<std::string> last) const;

  Connection& connection_;
  std::string first_;
  std::string count_;
  std::string exists_;
};

/// What waits of one lane, as far as it was counted.
struct LaneWaiting {
  std::uint64_t rows = 0;
  bool more = false;                      ///< there may be others behind them
  std::optional<WaitingRows::Row> first;  ///< absent: none, or (`more`) none was found so far
};

/// The rows that wait of each lane, in one pass over the table for all of them: a count of each
/// lane by itself reads the others' rows again and again. A pass ends after `pass_rows` rows; if it
/// did not come as far as some lane's cursor, another begins there, `passes_max` at most.
/// `after`: by lane, their cursors.
inline constexpr std::uint64_t pass_rows = 100'001;
inline constexpr int passes_max = 4;
[[nodiscard]] std::map<unsigned, LaneWaiting> count_lanes(
    Connection& connection, const Table& table, unsigned lanes,
    std::map<unsigned, std::optional<Position>> after);

}  // namespace seriatim::postgres

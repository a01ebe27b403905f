#pragma once

#include <cstdint>
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
  /// Is there such a row in the table, wherever it stands?
  bool exists(const std::string& id);

 private:
  Params cursor_and(const std::optional<Position>& after, std::optional<std::string> last) const;

  Connection& connection_;
  std::string first_;
  std::string count_;
  std::string exists_;
};

}  // namespace seriatim::postgres

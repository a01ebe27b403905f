#pragma once

#include <string>

#include "postgres/table/table.hpp"
#include "seriatim/config.hpp"

namespace seriatim::postgres {

/// What ends a batch before it has all its rows.
enum class BatchBound {
  share,  ///< the first row over its even share (rows_within_share.sql)
  bytes   ///< the row that would pass the sum (rows_within_bytes.sql)
};

/// What the text and the plan of a statement hang on, for one lane.
struct RowShape {
  BatchBound bound;
  bool from_the_start;
  unsigned rows_max;
  bool with_written;  ///< column `written` (written_when_read.sql), within shares
  auto operator<=>(const RowShape&) const = default;
};

/// The statement that reads the rows of a lane in a range. It can be prepared.
[[nodiscard]] std::string rows_in_range(const Table& table, const LaneId& lane,
                                        const RowShape& shape);

/// The same for one row, if it is in the range. In id order the range is that row alone.
[[nodiscard]] std::string row_in_range(const Table& table, const LaneId& lane, bool from_the_start);

/// The same for ids.
[[nodiscard]] std::string rows_of_ids(const Table& table, const LaneId& lane, unsigned rows_max);

}  // namespace seriatim::postgres

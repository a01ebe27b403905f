#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "postgres/wire/answer.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// The records of what rows_within_share.sql or rows_within_bytes.sql answered.
struct RowRecords {
  std::vector<Record> records;                       ///< up to the first row that was not sent
  std::optional<PollResult::Unreadable> unreadable;  ///< which is this one, if it can never be
  bool whole = true;                                 ///< every row of the answer became a record

  /// Throws SessionLost where the type of the payload is not what it was.
  RowRecords(const Answer& rows, bool binary, std::size_t payload_max);
};

/// How many rows the range had; rows_within_bytes.sql.
[[nodiscard]] std::size_t found_in(const Answer& rows);

/// What a row's own strings hold.
[[nodiscard]] std::size_t bytes_of(const Record& record);

/// bytea travels as hex digits: two bytes a byte.
[[nodiscard]] constexpr std::size_t bytes_scale(bool binary) {
  return binary ? 2 : 1;
}

}  // namespace seriatim::postgres

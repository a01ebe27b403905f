#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "seriatim/observer.hpp"

namespace seriatim::postgres {

/// What kept a report from reading on, so that what it says of the rows from there on is unknown.
struct UnreadRow {
  std::optional<std::string> id;  ///< absent: no single row, or not known which
  std::string error;              ///< the server's, with its SQLSTATE; or what the row is
  HaltReason reason = HaltReason::bad_payload;  ///< the lane halts with it once it gets there
  std::optional<std::uint64_t> rows_before;     ///< of the lane, which go out first
};

}  // namespace seriatim::postgres

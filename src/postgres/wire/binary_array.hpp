#pragma once

#include <string>

#include "seriatim/transaction.hpp"

namespace seriatim::postgres {

/// An array of one dimension as array_recv reads it (PostgreSQL: utils/adt/arrayfuncs.c): int32
/// dimensions, flag for NULLs, element type, length, lower bound; then each element with its
/// length, -1 for NULL. All in network byte order.
[[nodiscard]] std::string binary_array(const Transaction::Column& column);

}  // namespace seriatim::postgres

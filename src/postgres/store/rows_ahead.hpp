#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "seriatim/store.hpp"

namespace seriatim::postgres {

// What is kept of rows after the cursor, in column `ahead` of its row (migrations/021_ahead.sql).

/// Runs of consecutive integers are kept as their ends. Absent: nothing is to be kept.
[[nodiscard]] std::optional<std::string> json_of(const RowsAhead& ahead);
/// How many rows a receiver may be called with now.
[[nodiscard]] std::size_t announced(const RowsAhead& ahead);
/// SourceBroken if it is not what `json_of` writes.
[[nodiscard]] RowsAhead rows_ahead_from(std::string_view json);

}  // namespace seriatim::postgres

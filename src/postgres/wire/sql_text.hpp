#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seriatim::postgres {

/// Puts text into the `{name}` placeholders of a statement from sql/. What is put in is not
/// searched again, so expressions may hold braces. A placeholder without a value is a broken
/// program.
using Placeholders = std::vector<std::pair<std::string_view, std::string_view>>;
[[nodiscard]] std::string fill(std::string_view sql, const Placeholders& values);

/// "Id" → "\"Id\"": any name, whatever it holds.
[[nodiscard]] std::string quote_identifier(std::string_view name);

/// The name SQL would understand: without its quotes, or folded to lower case.
[[nodiscard]] std::string fold_identifier(std::string_view name);

/// A text literal, read the same whatever standard_conforming_strings is.
[[nodiscard]] std::string quote_literal(std::string_view text);

/// A PostgreSQL array in text form, for parameters: {"a","b"}.
[[nodiscard]] std::string array_text(const std::vector<std::string>& elements);
[[nodiscard]] std::string nullable_array_text(
    const std::vector<std::optional<std::string>>& elements);

/// Microseconds since 1970 as a timestamptz literal, exact over PostgreSQL's whole range.
[[nodiscard]] std::string timestamp_text(std::int64_t microseconds);

/// Cut to `bytes_max` at a character, invalid UTF-8 replaced by '?', NULs removed: fit for a text
/// column.
[[nodiscard]] std::string storable_text(std::string_view text, std::size_t bytes_max);

}  // namespace seriatim::postgres

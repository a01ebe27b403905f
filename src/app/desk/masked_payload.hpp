#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::app {

/// A payload as people may see it: its form, with the values at `paths` and "•••" in the place of
/// each other. Paths are whole and begin with "payload.": "payload.type". Elements of an array
/// share its path. A member whose name has a dot in it is never shown.
///
/// Nothing for a payload that is no JSON, or is larger than masked_bytes_max.
[[nodiscard]] std::optional<std::string> masked_payload(std::string_view payload,
                                                        const std::vector<std::string>& paths);
inline constexpr std::size_t masked_bytes_max = 64 << 10;

}  // namespace seriatim::app

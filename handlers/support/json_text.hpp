#pragma once

#include <string>
#include <string_view>

namespace seriatim::handlers {

/// Nesting of JSON that is looked into; deeper payloads can be sent as they are, not taken apart.
inline constexpr unsigned json_depth_max = 100;

/// Why `text` is not JSON that can be taken apart; empty: it is.
[[nodiscard]] std::string json_problem(std::string_view text);

}  // namespace seriatim::handlers

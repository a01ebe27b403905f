#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::runtime {

/// What a mistyped `word` most likely meant; empty when no candidate is close.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& candidates);

}  // namespace seriatim::runtime

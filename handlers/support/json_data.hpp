#pragma once

#include <kainjow/mustache.hpp>
#include <string_view>

namespace seriatim::handlers {

/// JSON as mustache data. Numbers become text, digit for digit, and never pass through double;
/// a member that is null is left out; an element that is null becomes `invalid`.
/// Throws CannotRender for text that is not JSON (or nested over `json_depth_max`).
[[nodiscard]] kainjow::mustache::data json_to_data(std::string_view json);

}  // namespace seriatim::handlers

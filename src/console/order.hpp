#pragma once

#include <string>
#include <string_view>

#include "console/desk.hpp"

namespace seriatim::console {

/// The body of POST /processes/{p}/acts. Throws Refused, which says what is wrong, where, and what
/// to do.
[[nodiscard]] Order order_of(const std::string& process, std::string_view body);

/// A row whose payload is to be shown, and why: `{"row": "4711", "reason": "…"}`.
struct Glance {
  std::string row;
  std::string reason;
};
/// The body of POST /processes/{p}/reveal. Throws likewise.
[[nodiscard]] Glance glance_of(std::string_view body);

}  // namespace seriatim::console

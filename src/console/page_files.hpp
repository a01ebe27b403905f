#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "console/http_message.hpp"

namespace seriatim::console {

/// A file of the page, as it was embedded.
struct Asset {
  std::string_view name;
  std::string_view content_type;
  std::string_view text;
};

/// `/`, `/p/NAME` and the other pages answer index.html, in which `{assets}` becomes
/// "/assets/HASH"; there the other files are, and never change. `files` must outlive the routes.
[[nodiscard]] std::vector<HttpRoute> page_routes(std::span<const Asset> files,
                                                 std::string_view hash);
/// The files that this program was built with.
[[nodiscard]] std::vector<HttpRoute> page_routes();

}  // namespace seriatim::console

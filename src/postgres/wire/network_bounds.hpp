#pragma once

#include <string>

namespace seriatim::postgres {

/// The URL, with bounds on how long an end that vanished may stay unnoticed: ours come first, and
/// libpq lets what comes later win, so what the user wrote does.
[[nodiscard]] std::string with_network_bounds(const std::string& url);

}  // namespace seriatim::postgres

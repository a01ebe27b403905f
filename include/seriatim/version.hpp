#pragma once

#include <string_view>

/// The version of these headers, for `#if`. Read by CMakeLists.txt, so it is named here alone.
#define SERIATIM_VERSION_MAJOR 0
#define SERIATIM_VERSION_MINOR 1
#define SERIATIM_VERSION_PATCH 0

namespace seriatim {

/// The version of the library that was linked: not that of the headers if another one is installed.
[[nodiscard]] std::string_view version() noexcept;  ///< "0.1.0"

}  // namespace seriatim

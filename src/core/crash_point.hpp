#pragma once

#include <string_view>

namespace seriatim::core {

#ifdef SERIATIM_MUTANTS
/// A place where the program may be killed or frozen on purpose: "before act", or "before" of
/// action "call". `seriatim_hooked` (tests/support/hooks.cpp) obeys; other builds do not contain
/// it.
void crash_point(std::string_view place, std::string_view action = {});
inline constexpr bool has_crash_points = true;
#else
constexpr void crash_point(std::string_view, std::string_view = {}) {}
inline constexpr bool has_crash_points = false;
#endif

}  // namespace seriatim::core

#pragma once

#include <chrono>
#include <span>
#include <string>

#include "seriatim/counts.hpp"

namespace seriatim::console {

/// An answer to a probe, and the sentence that explains it.
struct Health {
  bool good = true;
  std::string text;
};

/// A thread that is this far beyond the end it stated for its step is hung.
inline constexpr std::chrono::seconds hang_max{60};

/// Whether every lane's thread turns. A halt, a lost database or a standby is no reason to end the
/// program: nothing would be better after it. `now` is of the steady clock.
[[nodiscard]] Health liveness(std::span<const LaneCounts> lanes,
                              std::chrono::steady_clock::time_point now);

/// Whether the database has answered every lane lately, so that each is held by this relay or stood
/// by for. A lane that is in a call need not ask the database meanwhile.
[[nodiscard]] Health readiness(std::span<const LaneCounts> lanes,
                               std::chrono::steady_clock::time_point now);

}  // namespace seriatim::console

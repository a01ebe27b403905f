#pragma once

#include <chrono>
#include <cstdint>

namespace seriatim::bench {

/// CLOCK_MONOTONIC: the same in every process of the machine.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// So many in the time since `began_ns`.
inline double per_second(std::uint64_t count, std::int64_t took_ns) {
  return took_ns <= 0 ? 0 : static_cast<double>(count) * 1e9 / static_cast<double>(took_ns);
}

}  // namespace seriatim::bench

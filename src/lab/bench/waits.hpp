#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lab/bench/figure.hpp"
#include "lab/bench/writers.hpp"

namespace seriatim::bench {

/// One row from its commit being acknowledged to its call.
struct Wait {
  std::int64_t committed_ns = 0;
  double ms = 0;         ///< may be below zero: called before the producer had its answer
  double excess_ms = 0;  ///< over the age of the oldest transaction held open while it waited
};

/// Of every row that was written and handed over, in the order of commits; without those of the
/// first moments, which wait for caches to be filled.
[[nodiscard]] std::vector<Wait> waits_of(const Written& written,
                                         const std::map<std::int64_t, std::int64_t>& called_ns,
                                         std::chrono::milliseconds first_moments);

/// Notes p50 and p99 as samples, their names after `prefix`.
void note_waits(const std::vector<Wait>& waits, const std::string& prefix, Figure& figure);
/// … and how far they are over the age of the oldest writer.
void note_excess(const std::vector<Wait>& waits, Figure& figure);

}  // namespace seriatim::bench

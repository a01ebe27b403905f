#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bench/figure.hpp"
#include "bench/writers.hpp"

namespace seriatim::bench {

/// One row from its commit being acknowledged to its call.
struct Wait {
  std::int64_t committed_ns = 0;
  double ms = 0;         ///< may be below zero: called before the producer had its answer
  double excess_ms = 0;  ///< over the age of the oldest transaction held open while it waited
};

/// Of every row that was written and handed over, in the order of commits.
[[nodiscard]] std::vector<Wait> waits_of(const Written& written,
                                         const std::map<std::int64_t, std::int64_t>& called_ns);

/// Notes p50 and p99 of each of `windows` equal parts, one sample a part.
void note_waits(const std::vector<Wait>& waits, unsigned windows, bool with_excess, Figure& figure);

}  // namespace seriatim::bench

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace seriatim::bench {

/// From the INSERT being answered to the COMMIT being answered, of a transaction that was held
/// open.
struct LongWrite {
  std::int64_t began_ns = 0;
  std::int64_t ended_ns = 0;
};

struct Written {
  std::map<std::int64_t, std::int64_t> committed_ns;  ///< by id: when the commit was acknowledged
  std::vector<LongWrite> held;                        ///< by the others, whose rows are not judged
};

struct Writing {
  unsigned rows_per_s = 100;
  std::chrono::milliseconds length{5'000};
  unsigned long_writers = 0;  ///< each holds a transaction open for 50 to 500 ms, again and again
};

/// Producers, one row a transaction each, evenly spaced, from when all are connected. Each writes
/// one row before, which is not in `Written`. Returns when all have ended.
[[nodiscard]] Written write_events(const std::string& url, const Writing& writing,
                                   const std::stop_token& stop);

}  // namespace seriatim::bench

#include "core/backoff.hpp"

#include <algorithm>
#include <cmath>

namespace seriatim::core {

using std::chrono::milliseconds;

milliseconds backoff(const BackoffConfig& config, unsigned failures, double random,
                     std::optional<milliseconds> retry_after) {
  const double doublings = std::min(failures == 0 ? 0U : failures - 1, 62U);
  const double ceiling = std::min(static_cast<double>(config.max.count()),
                                  static_cast<double>(config.first.count()) * std::exp2(doublings));
  const auto drawn = milliseconds(static_cast<milliseconds::rep>(random * ceiling));
  const auto asked =
      std::clamp(retry_after.value_or(milliseconds{0}), milliseconds{0}, config.retry_after_max);
  return std::max({drawn, asked, milliseconds{1}});
}

}  // namespace seriatim::core

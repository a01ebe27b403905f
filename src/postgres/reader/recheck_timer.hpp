#pragma once

#include <algorithm>
#include <chrono>

namespace seriatim::postgres {

/// When to look again for what no poll shows. Where inserts send hints, an idle lane that heard
/// none since it last looked has nothing to find but what an UPDATE did, or an INSERT past the
/// triggers: it looks seldom then, for each look is several statements.
class RecheckTimer {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds interval{1};
  static constexpr std::chrono::seconds idle_interval{60};

  /// Something may have come.
  void prompt() { prompted_ = true; }
  [[nodiscard]] bool due(Clock::time_point now) const {
    return now >= ended_ + std::max<Clock::duration>(prompted_ ? interval : idle_interval, pause_);
  }
  /// Looked, and no sooner again than after `pause`. `whole`: nothing is left to look at but what a
  /// prompt tells of.
  void looked(Clock::time_point ended, Clock::duration pause, bool whole) {
    ended_ = ended;
    pause_ = pause;
    if (whole) prompted_ = false;
  }

 private:
  bool prompted_ = true;
  Clock::time_point ended_{};
  Clock::duration pause_{};
};

}  // namespace seriatim::postgres

#pragma once

#include <algorithm>
#include <chrono>

namespace seriatim::postgres {

/// When to check again for what no poll shows. If inserts send hints, an idle lane that got none
/// since its last check has nothing to find but what an UPDATE did, or an INSERT past the triggers.
/// It checks seldom then, because each check is several statements.
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
  /// Checked, and no sooner again than after `pause`. `whole`: nothing is left to check but what a
  /// prompt reports.
  void checked(Clock::time_point ended, Clock::duration pause, bool whole) {
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

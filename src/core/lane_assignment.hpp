#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "seriatim/source.hpp"

namespace seriatim::core {

/// How many of `lanes` each instance is to hold, in the order given: as many as the others, or one
/// more. Who holds most now keeps the odd ones, and of two that hold as many the one named first:
/// a lane moves only where it must.
[[nodiscard]] std::vector<unsigned> fair_shares(unsigned lanes, const std::vector<unsigned>& held);

/// Which lanes of a process one of its instances is to hold. Pure: a read in, a wish for each lane
/// out; what makes the wish true, and safe, is core::Lane with its claim. Each instance decides for
/// itself and the reads need not agree: at worst a lane waits for the next one.
///
/// A lane that is halted or paused counts like any other, so that nothing moves when an operator
/// lets it go on.
class LaneAssignment {
 public:
  struct Times {
    /// A lane nobody took for so long is anyone's, whatever the shares.
    std::chrono::milliseconds orphaned_after{5'000};
    /// … who then keeps what is above its share for so long, since others could not take it.
    std::chrono::milliseconds kept_for{60'000};
  };

  LaneAssignment(std::string instance, unsigned lanes, Times times);
  LaneAssignment(std::string instance, unsigned lanes)
      : LaneAssignment(std::move(instance), lanes, {}) {}

  /// By lane: to be claimed or kept; the others are to be given up between two calls.
  const std::vector<bool>& decide(const Membership& membership, Time now);

  /// Nobody can be asked who else there is: as if all stood by for every lane.
  const std::vector<bool>& decide_blindly();

  /// An instance says so often that it runs.
  static constexpr std::chrono::milliseconds report_interval{1'000};

  /// How long until the next read: `standby`, or until it is time to report if nothing is left to
  /// take. All instances together read at most some hundred times a second: the more there are,
  /// the more rarely each one reads.
  [[nodiscard]] std::chrono::milliseconds until_next_read(std::chrono::milliseconds standby) const;

 private:
  struct Count;
  [[nodiscard]] Count count(const Membership& membership) const;
  void give_up(const Count& count, unsigned surplus);
  void go_for(const Membership& membership, const Count& count, const std::vector<bool>& before,
              unsigned missing);
  void adopt_orphans(const Membership& membership, const Count& count, Time now);

  const std::string instance_;
  const unsigned lanes_;
  const Times times_;
  std::vector<bool> wanted_;
  std::vector<std::optional<Time>> free_since_;
  Time kept_until_{};
  bool holds_all_ = false;
  unsigned instances_ = 1;  ///< at the last read
};

}  // namespace seriatim::core

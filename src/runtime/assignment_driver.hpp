#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "core/lane_assignment.hpp"
#include "runtime/lane_driver.hpp"
#include "seriatim/source.hpp"

namespace seriatim::runtime {

/// Shares the lanes of one process with the other instances that run it: reads who does, and says
/// which of our lanes to hold. It has a connection and a thread of its own, so that an instance
/// whose lanes are all in long calls is still seen.
///
/// Threads: `run` on one of its own; `wake` from any.
class AssignmentDriver {
 public:
  struct Parts {
    ProcessConfig config;
    std::string holder;
    std::shared_ptr<Source> source;
    std::vector<LaneDriver*> lanes;  ///< all of the process, by number
  };
  explicit AssignmentDriver(Parts parts);

  void run(const std::stop_token& stop);
  void wake() { waker_.wake(); }

  [[nodiscard]] const std::string& process() const { return parts_.config.name; }
  /// When it was last answered who runs the process. Threads: any.
  [[nodiscard]] core::Time seen() const { return seen_; }

 private:
  using Time = core::Time;

  std::optional<Time> read_once(Time now);
  Time blind(Time now, bool at_once);
  void notify(const std::vector<bool>& wanted);
  void leave() noexcept;

  Parts parts_;
  Waker waker_;
  core::LaneAssignment share_;
  std::unique_ptr<MembershipSession> session_;
  std::mt19937_64 random_;
  unsigned failures_ = 0;
  std::atomic<Time> seen_;  ///< the last read that was answered, or the start
  Time report_at_{};
};

}  // namespace seriatim::runtime

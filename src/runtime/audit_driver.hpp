#pragma once

#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/lane_driver.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/source.hpp"

namespace seriatim::runtime {

/// Runs the audit of one process next to its lanes, on a thread and a connection of its own. What
/// fails here is said once and tried again; it never stops delivery.
///
/// Threads: `run` on one of its own; `wake` from any.
class AuditDriver {
 public:
  struct Parts {
    ProcessConfig config;
    std::string holder;
    std::shared_ptr<Source> source;
    std::shared_ptr<Observer> observer;
    std::vector<LaneDriver*> lanes;  ///< of the process: each has its connection before the audit
  };
  explicit AuditDriver(Parts parts) : parts_(std::move(parts)), random_(std::random_device{}()) {}

  void run(const std::stop_token& stop);
  void wake() { waker_.wake(); }

 private:
  bool open();
  [[nodiscard]] bool lanes_are_served() const;
  std::chrono::steady_clock::time_point failed(const std::string& why);
  void report_if_unserved_for_long();
  void report(const std::string& why) noexcept;

  Parts parts_;
  Waker waker_;
  std::unique_ptr<AuditorSession> session_;
  std::mt19937_64 random_;
  unsigned failures_ = 0;  ///< in a row; the first was reported
  std::optional<std::chrono::steady_clock::time_point> unserved_since_;  ///< a lane lacks its own
};

}  // namespace seriatim::runtime

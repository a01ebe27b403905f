#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "seriatim/observer.hpp"
#include "seriatim/source.hpp"

namespace seriatim::runtime {

/// The audit a drain waits for: a lane delivers nothing before all that is behind its cursor was
/// checked, and does not end as drained before it was checked again. What fails is reported once
/// and tried again, for as long as no stop is asked.
///
/// Threads: any; one lane at a time, on one connection.
class DrainAudit {
 public:
  struct Parts {
    ProcessConfig config;
    std::string holder;
    std::shared_ptr<Source> source;
    std::shared_ptr<Observer> observer;
  };
  explicit DrainAudit(Parts parts) : parts_(std::move(parts)) {}

  /// False: a stop was asked before all was checked. `lane` is held by our instance.
  bool check_all(unsigned lane, const std::stop_token& stop);

 private:
  void report(const std::string& why) noexcept;

  Parts parts_;
  std::mutex one_at_a_time_;
};

}  // namespace seriatim::runtime

#pragma once

#include <chrono>
#include <memory>

#include "seriatim/source.hpp"

namespace seriatim::runtime {

/// What a lane's driver takes from outside: the simulation gives it others.
class TimeAndChance {
 public:
  using Time = std::chrono::steady_clock::time_point;

  TimeAndChance() = default;
  TimeAndChance(const TimeAndChance&) = delete;
  TimeAndChance& operator=(const TimeAndChance&) = delete;
  virtual ~TimeAndChance() = default;

  [[nodiscard]] virtual Time now() = 0;
  /// In [0, 1).
  [[nodiscard]] virtual double chance() = 0;
  /// For a lane without a session; true if it was woken.
  virtual bool sleep_until(Time deadline, const Waker& waker) = 0;
};

/// This machine's clock and random numbers.
[[nodiscard]] std::shared_ptr<TimeAndChance> real_time_and_chance();

}  // namespace seriatim::runtime

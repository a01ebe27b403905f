#pragma once

#include <chrono>
#include <random>

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

  [[nodiscard]] virtual Time now() { return std::chrono::steady_clock::now(); }
  /// In [0, 1).
  [[nodiscard]] virtual double chance() { return between_(random_); }
  /// For a lane without a session; true if it was woken.
  virtual bool sleep_until(Time deadline, const Waker& waker) { return waker.wait_until(deadline); }

 private:
  std::mt19937_64 random_{std::random_device{}()};
  std::uniform_real_distribution<double> between_{0.0, 1.0};
};

}  // namespace seriatim::runtime

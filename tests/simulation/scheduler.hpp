#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "simulation/random.hpp"

namespace seriatim::simulation {

using Micros = std::int64_t;  ///< microseconds of simulated time
inline constexpr Micros millisecond = 1'000;
inline constexpr Micros second = 1'000'000;
/// A client knows that its connection was ended, unless it was cut off.
inline constexpr Micros loss_known_within = 300;

/// The only clock there is: steps run one after another, steps of one instant in random order.
class Scheduler {
 public:
  explicit Scheduler(Random& random) : random_(random) {}

  [[nodiscard]] Micros now() const { return now_; }

  void at(Micros when, std::function<void()> step) {
    steps_.push({when < now_ ? now_ : when, random_.next(), std::move(step)});
  }
  void after(Micros delay, std::function<void()> step) { at(now_ + delay, std::move(step)); }

  /// Runs every step up to `end`, or until `enough` says so between two steps.
  void run_until(Micros end, const std::function<bool()>& enough) {
    while (!steps_.empty() && steps_.top().when <= end && !enough()) {
      auto step = std::move(const_cast<Step&>(steps_.top()).run);
      now_ = steps_.top().when;
      steps_.pop();
      step();
    }
    if (!enough() && now_ < end) now_ = end;
  }

 private:
  struct Step {
    Micros when;
    std::uint64_t tie;
    std::function<void()> run;
    bool operator<(const Step& other) const {
      return when != other.when ? when > other.when : tie > other.tie;
    }
  };

  Random& random_;
  Micros now_ = 0;
  std::priority_queue<Step> steps_;
};

}  // namespace seriatim::simulation

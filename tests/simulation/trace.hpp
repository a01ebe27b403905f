#pragma once

#include <deque>
#include <string>

#include "simulation/scheduler.hpp"

namespace seriatim::simulation {

/// The last steps of a run, one line each. Off while searching; the seed that failed runs again
/// with it on.
class Trace {
 public:
  static constexpr std::size_t lines_max = 60;

  explicit Trace(bool on) : on_(on) {}

  /// `say` makes the line; it is not called while the trace is off.
  template <class Say>
  void operator()(Micros now, const char* who, Say say) {
    if (!on_) return;
    if (lines_.size() == lines_max) lines_.pop_front();
    auto stamp = std::to_string(now);
    stamp.insert(0, stamp.size() < 10 ? 10 - stamp.size() : 0, ' ');
    lines_.push_back(stamp + " µs  " + who + "  " + say());
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const auto& line : lines_) all += line + '\n';
    return all;
  }

 private:
  bool on_;
  std::deque<std::string> lines_;
};

}  // namespace seriatim::simulation

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "app/reports.hpp"

namespace seriatim::app {

/// One sentence on all lanes: is it moving, and what waits?
class Verdict {
 public:
  enum class State {
    well,     ///< nothing waits
    waits,    ///< rows wait, and every lane moves
    stalled,  ///< a lane is stopped
    unknown   ///< what waits could not be read of every lane, or there is none
  };
  void add(const postgres::LaneReport& report);

  [[nodiscard]] State state() const;
  /// "2 of 12 lanes are stopped; 9 814 rows wait, the oldest since 02:41 UTC (31 min)"
  [[nodiscard]] std::string text(std::chrono::system_clock::time_point now) const;

 private:
  std::uint64_t lanes_ = 0, still_ = 0, unread_ = 0, waiting_ = 0;
  bool more_ = false;
  std::chrono::milliseconds oldest_{0};
};
[[nodiscard]] const char* to_string(Verdict::State state);

}  // namespace seriatim::app

#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/reports.hpp"

namespace seriatim::app::top {

/// A lane as it was read last, and how fast it went.
struct Lane {
  postgres::LaneReport report;
  /// Rows a second between reads, the newest last. Absent: nobody knows, because the lane has
  /// another holder or its cursor was moved meanwhile.
  std::deque<std::optional<double>> rates;

  [[nodiscard]] std::optional<double> rate() const {
    return rates.empty() ? std::nullopt : rates.back();
  }
};

/// See Verdict::text.
[[nodiscard]] std::string verdict(const std::vector<Lane>& lanes,
                                  std::chrono::system_clock::time_point now);

enum class Sort { trouble, lag, rate, name };
[[nodiscard]] const char* to_string(Sort sort);

/// What was read so far, in the order that a person wants to see.
class Model {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t rates_max = 12;

  /// One more read. Lanes that are gone are forgotten.
  void take(const LaneReports& lanes, Clock::time_point at);
  [[nodiscard]] std::vector<Lane> all() const;
  /// Those whose process contains `filter`.
  [[nodiscard]] std::vector<Lane> lanes(Sort sort, const std::string& filter) const;

 private:
  using Name = std::pair<std::string, unsigned>;  ///< process, lane
  std::map<Name, Lane> lanes_;
  Clock::time_point read_at_{};
};

}  // namespace seriatim::app::top

#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "app/alerts/alerts_section.hpp"
#include "app/reports.hpp"
#include "postgres/admin/records/records.hpp"

namespace seriatim::app {

/// What a person must be called for, judged from one read of the database.
///
/// A lane is named by itself. If more than `lanes_named_max` lanes of a process have the same
/// trouble, it is the process's: a thousand lanes must not make a thousand alerts.
///
/// Threads: one. It remembers since when lanes are unheld and configurations differ.
class Conditions {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t lanes_named_max = 8;

  /// `secrets` must outlive it.
  Conditions(AlertThresholds thresholds, const Secrets& secrets)
      : thresholds_(thresholds), secrets_(secrets) {}

  struct Seen {
    const LaneReports& lanes;
    std::optional<postgres::Records::Surroundings> surroundings;  ///< absent: could not be read
    std::chrono::system_clock::time_point at;
    Clock::time_point now;
  };
  [[nodiscard]] std::vector<postgres::Condition> judge(const Seen& seen);

 private:
  using Key = std::tuple<std::string, int, std::string>;  ///< process, lane, kind

  void judge_lane(const postgres::LaneReport& lane, const Seen& seen);
  void judge_process(const postgres::LaneReport& lane, const Seen& seen);
  void judge_surroundings(const Seen& seen);
  /// Whether `key` has been so for at least `time`, and still is.
  [[nodiscard]] bool lasts(const Key& key, bool so, std::chrono::milliseconds time,
                           Clock::time_point now);
  void add(const postgres::LaneReport& lane, int number, const std::string& kind,
           const std::string& summary, bool certain = true);
  [[nodiscard]] std::string body_of(const postgres::LaneReport& report,
                                    const std::string& kind) const;

  AlertThresholds thresholds_;
  const Secrets& secrets_;
  std::map<Key, Clock::time_point> since_;
  std::vector<postgres::Condition> found_;
};

}  // namespace seriatim::app

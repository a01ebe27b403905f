#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "app/metrics/metrics.hpp"

namespace seriatim::app {

namespace {

using postgres::LaneReport;
using Labels = Families::Labels;
using Reports = std::map<std::string, std::vector<const LaneReport*>>;
using Value = std::optional<double>;

/// What a lane can be in, seen from outside.
constexpr std::array states{LaneState::standby, LaneState::running,  LaneState::idle,
                            LaneState::fenced,  LaneState::retrying, LaneState::halted,
                            LaneState::paused};

double as_seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

enum class Worst { largest, smallest };

/// A value a lane, or the worst of a process of many lanes. What is unknown has no series.
template <class Get>
void by_lane(const Reports& processes, Get get, Families& families, Worst which = Worst::largest) {
  for (const auto& [process, lanes] : processes) {
    Value worst;
    for (const auto* lane : lanes) {
      const Value value = get(*lane);
      if (!value) continue;
      worst = which == Worst::largest ? std::max(worst.value_or(*value), *value)
                                      : std::min(worst.value_or(*value), *value);
      if (lanes.size() > lane_series_max) continue;
      families.gauge({{"process", process}, {"lane", std::to_string(lane->lane.lane)}}, *value);
    }
    if (worst && lanes.size() > lane_series_max) families.gauge({{"process", process}}, *worst);
  }
}

/// A value that is the process's, so the same in the report of each of its lanes.
template <class Get>
void by_process(const Reports& processes, Get get, Families& families) {
  for (const auto& [process, lanes] : processes) {
    const Value value = get(lanes);
    if (value) families.gauge({{"process", process}}, *value);
  }
}

void add_lag(const Reports& processes, Families& families) {
  families.gauge_family("lag_seconds",
                        "age of the oldest committed row that waits; max over relays");
  by_lane(
      processes,
      [](const LaneReport& lane) -> Value {
        if (lane.lag_age) return as_seconds(*lane.lag_age);
        return lane.lag_records == 0 ? Value(0) : std::nullopt;
      },
      families);
  families.gauge_family("lag_records",
                        "committed rows that wait, counted up to 100001; max over relays");
  by_lane(
      processes,
      [](const LaneReport& lane) -> Value {
        if (!lane.lag_records) return std::nullopt;
        return static_cast<double>(*lane.lag_records + (lane.lag_more ? 1 : 0));
      },
      families);
}

void add_states(const Reports& processes, Families& families) {
  families.gauge_family("lane_state", "1 for the state a lane is in; standby: nobody holds it");
  for (const auto state : states) {
    for (const auto& [process, lanes] : processes) {
      if (lanes.size() > lane_series_max) continue;
      for (const auto* lane : lanes) {
        families.gauge({{"process", process},
                        {"lane", std::to_string(lane->lane.lane)},
                        {"state", to_string(state)}},
                       lane->lane.state == state ? 1 : 0);
      }
    }
  }
  families.gauge_family("lanes", "lanes in this state; max over relays");
  for (const auto& [process, lanes] : processes) {
    for (const auto state : states) {
      const auto count = std::count_if(lanes.begin(), lanes.end(), [&](const LaneReport* lane) {
        return lane->lane.state == state;
      });
      families.gauge({{"process", process}, {"state", to_string(state)}},
                     static_cast<double>(count));
    }
  }
  families.gauge_family("lane_halted", "1 while a lane is halted, with the code of the reason");
  for (const auto& [process, lanes] : processes) {
    std::map<std::string, double> many;
    for (const auto* lane : lanes) {
      if (!lane->lane.reason) continue;
      const std::string reason = to_string(*lane->lane.reason);
      if (lanes.size() > lane_series_max) {
        many[reason] = 1;
        continue;
      }
      families.gauge(
          {{"process", process}, {"lane", std::to_string(lane->lane.lane)}, {"reason", reason}}, 1);
    }
    for (const auto& [reason, one] : many) {
      families.gauge({{"process", process}, {"reason", reason}}, one);
    }
  }
}

void add_cursors(const Reports& processes, Families& families) {
  families.gauge_family("lane_attempts", "attempts started at the row a lane is at");
  by_lane(
      processes, [](const LaneReport& lane) -> Value { return lane.lane.attempts; }, families);
  families.gauge_family("lane_sequence", "number of the last row of a lane");
  by_lane(
      processes,
      [](const LaneReport& lane) -> Value { return static_cast<double>(lane.lane.sequence); },
      families);
  families.gauge_family("lane_epoch", "changes of holder, and acts that move the cursor");
  by_lane(
      processes,
      [](const LaneReport& lane) -> Value { return static_cast<double>(lane.lane.epoch); },
      families);
  families.gauge_family("in_flight_records",
                        "rows that are called now or next, if several calls may be in flight");
  by_lane(
      processes,
      [](const LaneReport& lane) -> Value { return static_cast<double>(lane.lane.in_flight); },
      families);
  families.gauge_family("done_ahead_records",
                        "rows after the cursor that are done or set aside; max over relays");
  by_lane(
      processes,
      [](const LaneReport& lane) -> Value { return static_cast<double>(lane.done_ahead); },
      families);
  families.gauge_family("cursor_timestamp_seconds", "created_at of the row at the cursor");
  by_lane(
      processes,
      [](const LaneReport& lane) -> Value {
        const auto& at = lane.lane.position;
        if (!at || at->created_at_us == 0) return std::nullopt;
        return 1e-6 * static_cast<double>(at->created_at_us);
      },
      families, Worst::smallest);
}

void add_fence(const Reports& processes, Families& families) {
  families.gauge_family("fence_wait_seconds", "how long rows have waited for an open transaction");
  by_lane(
      processes, [](const LaneReport& lane) -> Value { return as_seconds(lane.lane.fenced_for); },
      families);
  families.gauge_family("fence_blockers", "transactions that hold the fence; max over relays");
  by_process(
      processes,
      [](const auto& lanes) -> Value {
        std::size_t most = 0;
        for (const auto* lane : lanes) most = std::max(most, lane->lane.blockers.size());
        return static_cast<double>(most);
      },
      families);
  families.gauge_family("fence_oldest_blocker_seconds", "age of the oldest of them");
  by_process(
      processes,
      [](const auto& lanes) -> Value {
        double oldest = 0;
        for (const auto* lane : lanes) {
          for (const auto& blocker : lane->lane.blockers) {
            oldest = std::max(oldest, as_seconds(blocker.age));
          }
        }
        return oldest;
      },
      families);
}

void add_parked(const Reports& processes, Families& families) {
  families.gauge_family("parked_records", "rows set aside; max over relays");
  by_process(
      processes,
      [](const auto& lanes) -> Value { return static_cast<double>(lanes.front()->parked.rows); },
      families);
  families.gauge_family("parked_keys", "keys and single rows that are parked; max over relays");
  by_process(
      processes,
      [](const auto& lanes) -> Value { return static_cast<double>(lanes.front()->parked.heads); },
      families);
  families.gauge_family("parked_oldest_timestamp_seconds", "when the oldest was parked, Unix time");
  by_process(
      processes,
      [](const auto& lanes) -> Value {
        const auto us = lanes.front()->parked.since_us;
        return us ? Value(1e-6 * static_cast<double>(*us)) : std::nullopt;
      },
      families);
  families.gauge_family("held_keys", "keys that are held and tried again; max over relays");
  by_process(
      processes,
      [](const auto& lanes) -> Value {
        return static_cast<double>(lanes.front()->parked.held_keys);
      },
      families);
  families.gauge_family("held_records", "rows of held keys; max over relays");
  by_process(
      processes,
      [](const auto& lanes) -> Value {
        return static_cast<double>(lanes.front()->parked.held_rows);
      },
      families);
  families.gauge_family("held_oldest_timestamp_seconds",
                        "since when the oldest is held, Unix time");
  by_process(
      processes,
      [](const auto& lanes) -> Value {
        const auto us = lanes.front()->parked.held_since_us;
        return us ? Value(1e-6 * static_cast<double>(*us)) : std::nullopt;
      },
      families);
}

}  // namespace

void add_status_metrics(const LaneReports& lanes, std::chrono::system_clock::time_point now,
                        Families& families) {
  Reports processes;
  for (const auto& lane : lanes) processes[lane.lane.process].push_back(&lane);
  add_lag(processes, families);
  add_states(processes, families);
  add_cursors(processes, families);
  add_fence(processes, families);
  add_parked(processes, families);
  families.gauge_family("audit_complete_timestamp_seconds",
                        "all rows behind the cursor were found delivered at this time, Unix time");
  const auto now_s = std::chrono::duration<double>(now.time_since_epoch()).count();
  by_lane(
      processes,
      [&](const LaneReport& lane) -> Value {
        return lane.audit_age ? Value(now_s - as_seconds(*lane.audit_age)) : std::nullopt;
      },
      families, Worst::smallest);
  families.gauge_family("audit_sound", "1 if the latest `seriatim audit` found every row");
  by_process(
      processes,
      [](const auto& all) -> Value {
        const auto& audit = all.front()->latest_audit;
        return audit ? Value(audit->sound ? 1 : 0) : std::nullopt;
      },
      families);
  families.gauge_family("audit_timestamp_seconds", "when that audit was made, Unix time");
  by_process(
      processes,
      [](const auto& all) -> Value {
        const auto& audit = all.front()->latest_audit;
        return audit ? Value(1e-6 * static_cast<double>(audit->at_us)) : std::nullopt;
      },
      families);
  families.gauge_family("instances",
                        "relays that share the lanes of this process; max over relays");
  by_process(
      processes,
      [](const auto& all) -> Value {
        const auto& first = *all.front();
        const bool known = all.size() > 1 && !first.instances_hidden;
        return known ? Value(static_cast<double>(first.instances.size())) : std::nullopt;
      },
      families);
}

}  // namespace seriatim::app

#include "app/alerts/conditions.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "app/text.hpp"

namespace seriatim::app {

namespace {

using postgres::Condition;
using postgres::LaneReport;
using std::chrono::milliseconds;

std::string lane_name(const LaneReport& report) {
  return report.lane.process + " lane " + std::to_string(report.lane.lane);
}

/// "halted POISON at row 4711: HTTP 422: …"
std::string halt_summary(const LaneReport& report) {
  const auto notes = explanations(report.lane);
  return lane_name(report) + " is " + (notes.empty() ? "halted" : notes.front());
}

/// What the message says next to its sentence: the lane as `status` shows it, and what to type.
std::string body_of(const LaneReport& report) {
  boost::json::array notes;
  for (const auto& note : notes_of(report)) notes.emplace_back(valid_utf8(note));
  return boost::json::serialize(
      boost::json::object{{"notes", std::move(notes)},
                          {"command", "seriatim status " + shell_word(report.lane.process)},
                          {"status", boost::json::parse(lane_json(report))}});
}

/// Puts one condition that counts them in the place of many lanes of one process.
void gather(std::vector<Condition>& conditions) {
  std::map<std::pair<std::string, std::string>, std::vector<Condition>> same;
  for (const auto& one : conditions) {
    if (one.lane >= 0 && one.certain) same[{one.process, one.kind}].push_back(one);
  }
  std::erase_if(
      same, [](const auto& group) { return group.second.size() <= Conditions::lanes_named_max; });
  std::erase_if(conditions, [&](const Condition& one) {
    return one.lane >= 0 && same.contains({one.process, one.kind});
  });
  for (auto& [key, lanes] : same) {
    auto& all = lanes.front();
    all.lane = -1;
    all.summary =
        key.first + ": " + std::to_string(lanes.size()) + " lanes; the first: " + all.summary;
    conditions.push_back(std::move(all));
  }
}

}  // namespace

std::vector<Condition> Conditions::judge(const Seen& seen) {
  found_.clear();
  for (const auto& report : seen.lanes) {
    judge_lane(report, seen);
    if (report.lane.lane == 0) judge_process(report, seen);
  }
  judge_surroundings(seen);
  gather(found_);
  return std::exchange(found_, {});
}

void Conditions::judge_lane(const LaneReport& report, const Seen& seen) {
  const auto& lane = report.lane;
  const int number = static_cast<int>(lane.lane);
  const auto name = lane_name(report);
  if (lane.state == LaneState::halted) add(report, number, "halted", halt_summary(report));
  // A process that never ran here may belong to another database.
  const bool unheld = !report.holder_alive && lane.epoch > 0 && lane.state != LaneState::halted;
  if (const auto& time = thresholds_.unheld;
      time && lasts({lane.process, number, "unheld"}, unheld, *time, seen.now)) {
    add(report, number, "unheld", name + " is held by no relay: nothing is delivered");
  }
  const bool read = report.not_read.empty() && !report.unread;
  if (const auto& time = thresholds_.lag) {
    if (report.lag_age > *time) {
      add(report, number, "lag",
          name + ": its oldest row has waited for " + human_duration(*report.lag_age));
    } else if (!read) {
      add(report, number, "lag", name, false);
    }
  }
  if (const auto& time = thresholds_.fence) {
    if (lane.fenced_for > *time) {
      add(report, number, "fence",
          name + ": an open transaction has held its rows back for " +
              human_duration(lane.fenced_for));
    } else if (!read) {
      add(report, number, "fence", name, false);
    }
  }
}

void Conditions::judge_process(const LaneReport& report, const Seen& seen) {
  const auto& name = report.lane.process;
  if (thresholds_.parked && report.parked.rows >= *thresholds_.parked) {
    add(report, -1, "parked", name + ": " + parked_note(name, report.parked));
  }
  if (!report.latest_audit || !thresholds_.audit) return;
  const auto& audit = *report.latest_audit;
  const auto made = std::chrono::system_clock::time_point(std::chrono::microseconds(audit.at_us));
  if (!audit.sound) {
    add(report, -1, "audit_broken",
        name + ": the audit of " + rfc3339(audit.at_us) +
            " does not find every row delivered: " + printable(audit.detail));
  }
  const auto age = std::chrono::duration_cast<milliseconds>(seen.at - made);
  if (age > *thresholds_.audit) {
    add(report, -1, "audit_late", name + ": the latest audit is " + human_duration(age) + " old");
  }
}

void Conditions::judge_surroundings(const Seen& seen) {
  const auto& around = seen.surroundings;
  if (lasts({"", -1, "configuration"}, around.configurations > 1, thresholds_.configuration,
            seen.now)) {
    found_.push_back({"", -1, "configuration", true,
                      "relays of the same processes run with " +
                          std::to_string(around.configurations) +
                          " different configurations; table seriatim.relay names them"});
  }
  if (thresholds_.slot && around.slot && around.slot_bytes > 0 &&
      std::cmp_greater(around.slot_bytes, *thresholds_.slot)) {
    found_.push_back({"", -1, "slot", true,
                      "replication slot " + printable(*around.slot) + " keeps " +
                          human_bytes(static_cast<std::size_t>(around.slot_bytes)) +
                          " of the log: the server's disk may fill up; see pg_replication_slots"});
  }
}

bool Conditions::lasts(const Key& key, bool so, milliseconds time, Clock::time_point now) {
  if (!so) {
    since_.erase(key);
    return false;
  }
  const auto [entry, is_new] = since_.emplace(key, now);
  return now - entry->second >= time;
}

void Conditions::add(const LaneReport& report, int number, const std::string& kind,
                     const std::string& summary, bool certain) {
  found_.push_back({report.lane.process, number, kind, certain, valid_utf8(summary),
                    certain ? body_of(report) : ""});
}

}  // namespace seriatim::app

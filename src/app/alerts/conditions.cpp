#include "app/alerts/conditions.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <set>
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

milliseconds age_of(std::int64_t since_us, const Conditions::Seen& seen) {
  const std::chrono::system_clock::time_point since{std::chrono::microseconds(since_us)};
  return std::chrono::duration_cast<milliseconds>(seen.at - since);
}

/// Puts one condition that counts them in the place of many lanes of one process. The lanes' own
/// are neither opened nor resolved then.
void gather(std::vector<Condition>& conditions) {
  std::map<std::pair<std::string, std::string>, std::vector<Condition*>> same;
  std::set<std::pair<std::string, std::string>> unknown;
  for (auto& one : conditions) {
    if (one.lane < 0) continue;
    if (one.certain) same[{one.process, one.kind}].push_back(&one);
    if (!one.certain) unknown.insert({one.process, one.kind});
  }
  std::vector<Condition> gathered;
  for (auto& [key, lanes] : same) {
    if (lanes.size() <= Conditions::lanes_named_max) continue;
    unknown.erase(key);
    auto& all = gathered.emplace_back(*lanes.front());
    all.lane = -1;
    all.summary =
        key.first + ": " + std::to_string(lanes.size()) + " lanes; the first: " + all.summary;
    for (auto* lane : lanes) lane->certain = false;
  }
  for (const auto& [process, kind] : unknown) gathered.push_back({process, -1, kind, false});
  for (auto& one : gathered) conditions.push_back(std::move(one));
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
  if (lane.epoch == 0) return;  // it never ran here, and may belong to another database
  const bool unheld = !report.holder_alive && lane.state != LaneState::halted;
  if (const auto& time = thresholds_.unheld) {
    const bool lasting = lasts({lane.process, number, "unheld"}, unheld, *time, seen.now);
    if (unheld) {
      add(report, number, "unheld", name + " is held by no relay: nothing is delivered", lasting);
    }
  }
  const bool read = report.not_read.empty() && !report.unread;
  const bool unknown = !read || (report.lag_more && !report.lag_age);
  if (const auto& time = thresholds_.lag; time && (unknown || report.lag_age > *time)) {
    add(report, number, "lag",
        name + ": its oldest row has waited for " +
            human_duration(report.lag_age.value_or(milliseconds{0})),
        report.lag_age > *time);
  }
  if (const auto& time = thresholds_.fence; time && (!read || lane.fenced_for > *time)) {
    add(report, number, "fence",
        name + ": an open transaction has held its rows back for " +
            human_duration(lane.fenced_for),
        lane.fenced_for > *time);
  }
}

void Conditions::judge_process(const LaneReport& report, const Seen& seen) {
  const auto& name = report.lane.process;
  if (thresholds_.parked && report.parked.rows >= *thresholds_.parked) {
    add(report, -1, "parked", name + ": " + parked_note(name, report.parked));
  }
  const auto since_us = report.parked.held_since_us;
  if (thresholds_.held && since_us && age_of(*since_us, seen) > *thresholds_.held) {
    add(report, -1, "held", name + ": " + held_note(name, report.parked));
  }
  if (!report.latest_audit || !thresholds_.audit) return;
  const auto& audit = *report.latest_audit;
  if (!audit.sound) {
    add(report, -1, "audit_broken",
        name + ": the audit of " + rfc3339(audit.at_us) +
            " does not find every row delivered: " + printable(audit.detail));
  }
  const auto age = age_of(audit.at_us, seen);
  if (age > *thresholds_.audit) {
    add(report, -1, "audit_late", name + ": the latest audit is " + human_duration(age) + " old");
  }
}

void Conditions::judge_surroundings(const Seen& seen) {
  const auto& around = seen.surroundings;
  const bool differ = around && around->configurations > 1;
  const bool lasting =
      lasts({"", -1, "configuration"}, differ, thresholds_.configuration, seen.now);
  if (differ || !around) {
    const auto count = around ? std::to_string(around->configurations) : "";
    found_.push_back({"", -1, "configuration", lasting,
                      "relays of the same processes run with " + count +
                          " different configurations; table seriatim.relay names them"});
  }
  if (!thresholds_.slot) return;
  if (!around) return found_.push_back({"", -1, "slot", false});
  if (around->slot && around->slot_bytes > 0 &&
      std::cmp_greater(around->slot_bytes, *thresholds_.slot)) {
    found_.push_back({"", -1, "slot", true,
                      "replication slot " + printable(*around->slot) + " keeps " +
                          human_bytes(static_cast<std::size_t>(around->slot_bytes)) +
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
  found_.push_back({report.lane.process, number, kind, certain,
                    valid_utf8(secrets_.redact(summary)), certain ? body_of(report, kind) : ""});
}

/// What the message says next to its sentence: the lane as `status` shows it, and what to type.
/// "subject": an alert that is open is sent again once it is about something else.
std::string Conditions::body_of(const LaneReport& report, const std::string& kind) const {
  boost::json::array notes;
  for (const auto& note : notes_of(report)) notes.emplace_back(valid_utf8(secrets_.redact(note)));
  boost::system::error_code wrong;
  auto status = boost::json::parse(secrets_.redact(lane_json(report)), wrong);
  if (wrong) status = nullptr;  // a secret was part of a number
  boost::json::object body{{"notes", std::move(notes)},
                           {"command", "seriatim status " + shell_word(report.lane.process)},
                           {"status", std::move(status)}};
  if (kind == "halted") body["subject"] = valid_utf8(report.lane.row_id.value_or(""));
  return boost::json::serialize(body);
}

}  // namespace seriatim::app

#include "app/desk/desk_json.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "app/json_parts.hpp"
#include "app/text.hpp"
#include "app/verdict.hpp"

namespace seriatim::app {

namespace {

namespace json = boost::json;

json::value or_null(const std::optional<std::string>& text) {
  return text ? json::value(valid_utf8(*text)) : json::value(nullptr);
}

template <class Number>
json::value count_or_null(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::array texts_of(const std::vector<std::string>& texts) {
  json::array list;
  for (const auto& text : texts) list.emplace_back(valid_utf8(text));
  return list;
}

std::string moment_of(std::chrono::system_clock::time_point time) {
  using std::chrono::microseconds;
  return app::rfc3339(std::chrono::duration_cast<microseconds>(time.time_since_epoch()).count());
}

json::value audit_of(const std::optional<postgres::LatestAudit>& audit) {
  if (!audit) return nullptr;
  return json::object{{"sound", audit->sound},
                      {"at", app::rfc3339(audit->at_us)},
                      {"detail", valid_utf8(audit->detail)}};
}

/// In the order of the lanes.
json::array processes_of(const LaneReports& lanes) {
  json::array list;
  const std::string* last = nullptr;
  for (const auto& report : lanes) {
    const auto& name = report.lane.process;
    if (!last || *last != name) {
      list.push_back(json::object{{"name", valid_utf8(name)},
                                  {"lanes", 0},
                                  {"parked", parked_object(report.parked)},
                                  {"audit", audit_of(report.latest_audit)}});
    }
    last = &name;
    auto& count = list.back().as_object()["lanes"];
    count = count.as_int64() + 1;
  }
  return list;
}

/// Ages that grow although nothing happens.
void drop_idle_ages(json::object& status) {
  for (auto& lane : status["lanes"].as_array()) lane.as_object().erase("audit_age_ms");
  auto* relays = status["instances"].if_array();
  if (!relays) return;
  for (auto& relay : *relays) relay.as_object().erase("seen_ms");
}

double millis(std::uint64_t microseconds) {
  return static_cast<double>(microseconds) / 1'000;
}

json::object to_json(const postgres::HistoryMinute& minute) {
  const auto calls = std::max<std::uint64_t>(minute.calls, 1);
  return {{"minute", minute.minute},
          {"lane", minute.lane},
          {"delivered", minute.delivered},
          {"failures", minute.failures},
          {"calls", minute.calls},
          {"call_mean_ms", millis(minute.call_sum_us / calls)},
          {"call_max_ms", millis(minute.call_max_us)},
          {"age_max_ms", millis(minute.age_max_us)}};
}

}  // namespace

console::Desk::Snapshot snapshot_json(const LaneReports& lanes, const StatusTimes& times,
                                      const std::optional<std::uint64_t>& alerts_open) {
  Verdict verdict;
  for (const auto& lane : lanes) verdict.add(lane);
  auto status = lanes_object(lanes);
  status["verdict"] = json::object{{"state", to_string(verdict.state())},
                                   {"text", verdict.text(times.looked_at) + '.'}};
  status["processes"] = processes_of(lanes);
  status["alerts_open"] = count_or_null(alerts_open);
  const json::object read{{"looked_at", moment_of(times.looked_at)},
                          {"server_now", moment_of(times.now)}};
  for (const auto& member : read) status.emplace(member.key(), member.value());
  console::Desk::Snapshot snapshot{json::serialize(status), json::serialize(read), {}};
  drop_idle_ages(status);
  for (const auto& member : read) status.erase(member.key());
  snapshot.content = json::serialize(status);
  return snapshot;
}

std::string journal_json(const std::vector<postgres::JournalEntry>& entries,
                         const std::optional<std::string>& next) {
  json::array list;
  for (const auto& entry : entries) {
    list.push_back(json::object{{"number", entry.number},
                                {"process", valid_utf8(entry.process)},
                                {"act", valid_utf8(entry.act)},
                                {"lane", count_or_null(entry.lane)},
                                {"at", entry.at},
                                {"who", valid_utf8(entry.who)},
                                {"why", valid_utf8(entry.why)},
                                {"row", or_null(entry.row_id)}});
  }
  return json::serialize(json::object{{"entries", std::move(list)}, {"next", or_null(next)}});
}

std::string history_json(const std::string& process,
                         const std::vector<postgres::HistoryMinute>& minutes) {
  json::array list;
  for (const auto& minute : minutes) list.push_back(to_json(minute));
  return json::serialize(json::object{{"process", process}, {"minutes", std::move(list)}});
}

std::string audits_json(const std::string& process,
                        const std::vector<postgres::AuditReport>& reports) {
  json::array list;
  for (const auto& report : reports) {
    list.push_back(json::object{{"at", report.at},
                                {"who", valid_utf8(report.who)},
                                {"sound", report.sound},
                                {"rows", report.rows},
                                {"hash", valid_utf8(report.hash)},
                                {"through_row", or_null(report.through_row)},
                                {"through_at", or_null(report.through_at)},
                                {"detail", valid_utf8(report.detail)}});
  }
  return json::serialize(json::object{{"process", process}, {"reports", std::move(list)}});
}

std::string alerts_json(const std::vector<postgres::AlertReport>& alerts,
                        const std::optional<std::string>& next) {
  json::array list;
  for (const auto& alert : alerts) {
    list.push_back(json::object{{"id", alert.id},
                                {"process", valid_utf8(alert.process)},
                                {"lane", count_or_null(alert.lane)},
                                {"kind", valid_utf8(alert.kind)},
                                {"summary", valid_utf8(alert.summary)},
                                {"opened_at", alert.opened_at},
                                {"clear_since", or_null(alert.clear_since)},
                                {"resolved_at", or_null(alert.resolved_at)},
                                {"accepted_at", or_null(alert.accepted_at)}});
  }
  return json::serialize(json::object{{"alerts", std::move(list)}, {"next", or_null(next)}});
}

std::string relays_json(const std::vector<postgres::RelayReport>& relays, const std::string& own) {
  json::array list;
  for (const auto& relay : relays) {
    list.push_back(json::object{{"name", valid_utf8(relay.name)},
                                {"version", valid_utf8(relay.version)},
                                {"config_hash", valid_utf8(relay.config_hash)},
                                {"processes", texts_of(relay.processes)},
                                {"started_at", relay.started_at},
                                {"seen_ms", relay.seen_ms},
                                {"this", relay.name == own}});
  }
  return json::serialize(json::object{{"relays", std::move(list)}});
}

std::string performed_json(const std::string& process, const Performed& done) {
  const auto entry = done.entry ? json::value(std::to_string(*done.entry)) : json::value(nullptr);
  return json::serialize(
      json::object{{"process", process}, {"done", texts_of(done.lines)}, {"journal", entry}});
}

std::string previewed_json(const std::string& process, const Previewed& preview) {
  return json::serialize(
      json::object{{"process", process},
                   {"preview", true},
                   {"count", count_or_null(preview.count)},
                   {"plan", or_null(preview.plan)},
                   {"text", texts_of(preview.lines)},
                   {"lanes", preview.steps.empty() ? json::value(nullptr)
                                                   : json::value(steps_json(preview.steps))}});
}

std::string revealed_json(const postgres::Revealed& shown) {
  return json::serialize(
      json::object{{"id", valid_utf8(shown.id)}, {"payload", or_null(shown.payload)}});
}

std::string recounted_json(const std::string& process,
                           const std::vector<postgres::LaneAudit>& lanes) {
  std::uint64_t rows = 0;
  bool sound = true;
  for (const auto& lane : lanes) {
    rows += lane.rows;
    sound = sound && lane.sound();
  }
  return json::serialize(json::object{{"process", process},
                                      {"rows", rows},
                                      {"done", true},
                                      {"sound", sound},
                                      {"finding", valid_utf8(audit_finding(lanes))}});
}

}  // namespace seriatim::app

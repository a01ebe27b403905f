// What is worth an alert, judged from reports made by hand.
#include "app/alerts/conditions.hpp"

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include "app/alerts/alert_message.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using app::Conditions;
using postgres::Condition;
using postgres::LaneReport;

namespace {

LaneReport healthy(unsigned lane = 0) {
  LaneReport report;
  report.lane.process = "p";
  report.lane.lane = lane;
  report.lane.state = LaneState::idle;
  report.lane.epoch = 1;
  report.holder_alive = true;
  report.lag_records = 0;
  report.lag_age = 0ms;
  return report;
}

struct Judge {
  Judge() {
    thresholds.unheld = 60s;
    thresholds.lag = 300s;
    thresholds.fence = 60s;
    thresholds.audit = 48h;
    thresholds.parked = 1;
    thresholds.slot = 1'000;
  }
  /// "halted 0 -1 …": kinds with their lanes; uncertain ones with a question mark.
  std::string operator()(const app::LaneReports& lanes, Conditions::Clock::duration later = 0s) {
    if (!conditions) conditions.emplace(thresholds, secrets);
    found = conditions->judge({lanes, around, std::chrono::system_clock::now(), start + later});
    std::string text;
    for (const auto& one : found) {
      text += (text.empty() ? "" : ", ") + one.kind + ' ' + std::to_string(one.lane) +
              (one.certain ? "" : "?");
    }
    return text;
  }

  app::Secrets secrets;
  app::AlertThresholds thresholds;
  std::optional<postgres::Records::Surroundings> around = postgres::Records::Surroundings{};
  std::optional<Conditions> conditions;
  std::vector<Condition> found;
  Conditions::Clock::time_point start = Conditions::Clock::now();
};

}  // namespace

TEST_CASE("a lane that is well is worth no alert") {
  Judge judge;
  CHECK(judge({healthy()}) == "");
}

TEST_CASE("a halted lane is named with its row and the receiver's answer") {
  Judge judge;
  auto lane = healthy();
  lane.lane.state = LaneState::halted;
  lane.lane.reason = HaltReason::poison;
  lane.lane.row_id = "4711";
  lane.lane.detail = "HTTP 422: number not in service";
  CHECK(judge({lane}) == "halted 0");
  CHECK(judge.found[0].summary ==
        "p lane 0 is halted POISON at row 4711: HTTP 422: number not in service");
  const auto body = boost::json::parse(judge.found[0].body);
  CHECK(body.at("status").at("row").as_string() == "4711");
  CHECK(body.at("subject").as_string() == "4711");
  CHECK(body.at("command").as_string() == "seriatim status p");
  CHECK(std::string(body.at("notes").as_array().at(1).as_string()).find("seriatim skip") !=
        std::string::npos);
}

TEST_CASE("a lane is unheld once nobody has held it for the time configured") {
  Judge judge;
  auto lane = healthy();
  lane.holder_alive = false;
  lane.lane.state = LaneState::standby;
  CHECK(judge({lane}) == "unheld 0?, unheld -1?");  // an alert that is open stays open
  CHECK(judge({lane}, 59s) == "unheld 0?, unheld -1?");
  CHECK(judge({lane}, 60s) == "unheld 0");
  CHECK(judge({healthy()}, 61s) == "");
  CHECK(judge({lane}, 62s) == "unheld 0?, unheld -1?");  // from the beginning again
  lane.lane.epoch = 0;                                   // it never ran here
  CHECK(judge({lane}, 600s) == "");
}

TEST_CASE("lag, fence and rows set aside have their thresholds; off means never") {
  auto lane = healthy();
  lane.lag_age = 301s;
  lane.lane.fenced_for = 61s;
  lane.parked.rows = 1;
  Judge judge;
  CHECK(judge({lane}) == "lag 0, fence 0, parked -1");
  Judge silent;
  silent.thresholds = {};
  CHECK(silent({lane}) == "");
  lane.lag_age = 300s;
  lane.lane.fenced_for = 60s;
  lane.parked.rows = 0;
  CHECK(judge({lane}) == "");
}

TEST_CASE("what could not be read neither opens nor resolves an alert") {
  Judge judge;
  auto lane = healthy();
  lane.lag_age.reset();
  lane.not_read = "the table is locked";
  CHECK(judge({lane}) == "lag 0?, fence 0?, fence -1?, lag -1?");
  lane.not_read.clear();
  lane.lag_more = true;  // there are some, and none was found in time
  CHECK(judge({lane}) == "lag 0?, lag -1?");
}

TEST_CASE("an audit that is not sound, and one that is old") {
  Judge judge;
  auto lane = healthy();
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  lane.latest_audit = {true, now, "complete"};
  CHECK(judge({lane}) == "");
  lane.latest_audit = {false, now - 49 * 3'600'000'000, "NOT complete"};
  CHECK(judge({lane}) == "audit_broken -1, audit_late -1");
  CHECK(judge.found[0].summary.find("NOT complete") != std::string::npos);
}

TEST_CASE("different configurations for a while, and a slot that keeps too much") {
  Judge judge;
  judge.around = postgres::Records::Surroundings{2, "old_copy", 1'001};
  CHECK(judge({healthy()}) == "configuration -1?, slot -1");
  CHECK(judge({healthy()}, 15min) == "configuration -1, slot -1");
  CHECK(judge.found[0].process.empty());
  judge.around = postgres::Records::Surroundings{1, "old_copy", 1'000};
  CHECK(judge({healthy()}, 16min) == "");
  judge.around.reset();  // this role may not read them
  CHECK(judge({healthy()}, 17min) == "configuration -1?, slot -1?");
}

TEST_CASE("many lanes with the same trouble make one alert") {
  Judge judge;
  app::LaneReports lanes;
  for (unsigned i = 0; i < Conditions::lanes_named_max; ++i) {
    lanes.push_back(healthy(i));
    lanes.back().lag_age = 301s;
  }
  CHECK(judge(lanes) == "lag 0, lag 1, lag 2, lag 3, lag 4, lag 5, lag 6, lag 7");
  lanes.push_back(healthy(Conditions::lanes_named_max));
  lanes.back().lag_age = 301s;
  CHECK(judge(lanes) ==
        "lag 0?, lag 1?, lag 2?, lag 3?, lag 4?, lag 5?, lag 6?, lag 7?, lag 8?, lag -1");
  CHECK(judge.found.back().summary.starts_with("p: 9 lanes; the first: p lane 0"));
}

TEST_CASE("a message has a number of its own at each turn, and a type by what it concerns") {
  postgres::AlertMessage message{"17",
                                 2,
                                 "p",
                                 0,
                                 "halted",
                                 "p lane 0 is halted",
                                 R"({"command":"seriatim status p"})",
                                 "2026-01-01T00:00:00.000Z"};
  CHECK(app::message_id(message) == "seriatim-alert-17-2");
  CHECK(app::message_type(message) == "seriatim.lane.halted");
  auto json = boost::json::parse(app::message_json(message));
  CHECK(json.at("data").at("state").as_string() == "open");
  CHECK(json.at("data").at("resolved_at").is_null());
  CHECK(json.at("timestamp").as_string() == "2026-01-01T00:00:00.000Z");
  message.resolved_at = "2026-01-01T01:00:00.000Z";
  message.lane = -1;
  json = boost::json::parse(app::message_json(message));
  CHECK(json.at("type").as_string() == "seriatim.process.halted");
  CHECK(json.at("data").at("state").as_string() == "resolved");
  CHECK(app::message_slack(message) ==
        R"({"text":"Over: p lane 0 is halted\n`seriatim status p`"})");
  message.summary = "<!channel> & more";
  CHECK(app::message_slack(message).find("Over: &lt;!channel&gt; &amp; more") != std::string::npos);
}

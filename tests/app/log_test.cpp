#include "app/log.hpp"

#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

using namespace seriatim;
using namespace seriatim::app;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

LaneStatus lane_in(LaneState state) {
  LaneStatus lane;
  lane.process = "booking_sms";
  lane.state = state;
  lane.position = Position{0, "4710"};
  lane.sequence = 17;
  lane.epoch = 3;
  return lane;
}

LaneStatus halted() {
  auto lane = lane_in(LaneState::halted);
  lane.reason = HaltReason::poison;
  lane.row_id = "4711";
  lane.detail = "HTTP 422: number not in service";
  return lane;
}

LaneStatus fenced(milliseconds age) {
  auto lane = lane_in(LaneState::fenced);
  lane.blockers.push_back({.pid = 123,
                           .gid = "",
                           .application = "psql",
                           .user = "alice",
                           .state = "idle in transaction",
                           .age = age,
                           .ours = false});
  return lane;
}

/// The level and message of each line a story of states makes.
std::vector<std::pair<LogLevel, std::string>> told(const std::vector<LaneStatus>& story) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  LaneLog log([&](const LogLine& line) { lines.emplace_back(line.level, line.message); });
  for (const auto& lane : story) log.lane_changed(lane);
  return lines;
}

}  // namespace

TEST_CASE("an audit that failed says why, and that delivery goes on") {
  std::vector<LogLine> lines;
  LaneLog log([&](const LogLine& line) { lines.push_back(line); });
  log.audit_failed("booking_sms", "connection refused\n");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].level == LogLevel::warn);
  CHECK(lines[0].message.starts_with("booking_sms audit: connection refused"));
  CHECK(lines[0].message.ends_with("; it is tried again, and delivery goes on"));
}

TEST_CASE("a halt names process, lane, code, row, position and what the receiver said") {
  const auto line = describe(halted());
  CHECK(line.level == LogLevel::error);
  CHECK(line.message ==
        "booking_sms/0 halted POISON at row 4711 after 4710: HTTP 422: number not in service");
}

TEST_CASE("a retry names attempt and delay") {
  auto lane = lane_in(LaneState::retrying);
  lane.row_id = "4711";
  lane.attempts = 2;
  lane.retry_in = seconds{3};
  lane.detail = "HTTP 500";
  const auto line = describe(lane);
  CHECK(line.level == LogLevel::warn);
  CHECK(line.message ==
        "booking_sms/0 retrying at row 4711 after 4710, attempt 2, again in 3 s: HTTP 500");
}

TEST_CASE("a handler's note is a line with its lane, and a field of its own") {
  const auto line = describe(HandlerNote{"booking_sms", 3, "out of paper\x1b"});
  CHECK(line.level == LogLevel::info);
  CHECK(line.message == "booking_sms/3 handler: out of paper\x1b");  // escaped when written
  const auto value = boost::json::parse('{' + json_members(line) + '}');
  CHECK(value.at("process").as_string() == "booking_sms");
  CHECK(value.at("lane").as_int64() == 3);
  CHECK(value.at("handler").as_string() == "out of paper\\x1b");
}

TEST_CASE("a stall names who holds the fence") {
  CHECK(describe(fenced(seconds{12})).message ==
        "booking_sms/0 fenced after 4710: waits for pid 123 (psql, alice, idle in transaction, 12 "
        "s)");
  Blocker prepared;
  prepared.gid = "tx-1";
  prepared.age = seconds{61};
  CHECK(describe(prepared) == "prepared transaction \"tx-1\" (1 min 1 s)");
}

TEST_CASE(
    "a blocker's statement is reported by its age, never by its text, and a session of ours as "
    "such") {
  auto blocker = fenced(seconds{12}).blockers.front();
  blocker.statement_age = seconds{11};
  CHECK(describe(blocker) ==
        "pid 123 (psql, alice, idle in transaction, 12 s, last statement 11 s ago)");
  blocker.state = "active";
  CHECK(describe(blocker) == "pid 123 (psql, alice, active, 12 s, in a statement for 11 s)");
  blocker.ours = true;
  CHECK(describe(blocker).find("(a session of seriatim itself, psql") != std::string::npos);
  CHECK(describe(Blocker{.pid = 123}) == "pid 123");  // all else is hidden from this role
}

TEST_CASE("a stall's line has who holds it and for how long as fields") {
  auto lane = fenced(seconds{12});
  lane.fenced_for = seconds{7};
  const auto value = boost::json::parse('{' + json_members(describe(lane)) + '}');
  CHECK(value.at("fenced_for_ms").as_int64() == 7'000);
  CHECK(value.at("blocker_pid").as_int64() == 123);
  CHECK(value.at("blocker_application").as_string() == "psql");
  CHECK(value.at("blocker_user").as_string() == "alice");
  CHECK(value.at("blocker_age_ms").as_int64() == 12'000);
}

TEST_CASE("terminal escapes of a receiver are escaped and its flood is cut") {
  auto lane = halted();
  lane.detail = "\x1b[2J" + std::string(10'000, 'x') + "\n";
  const auto line = describe(lane);
  CHECK(line.message.find('\x1b') == std::string::npos);
  CHECK(line.message.find("\\x1b[2Jxxx") != std::string::npos);
  CHECK(line.message.size() < 700);
}

TEST_CASE("steady flips between running and idle are debug, the first of them is not") {
  const auto lines = told({lane_in(LaneState::running), lane_in(LaneState::idle),
                           fenced(milliseconds{5}), lane_in(LaneState::running)});
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].first == LogLevel::info);
  for (int i = 1; i < 4; ++i) CHECK(lines[static_cast<std::size_t>(i)].first == LogLevel::debug);
}

TEST_CASE("the way out of a halt is reported") {
  const auto lines = told({halted(), lane_in(LaneState::running), lane_in(LaneState::idle)});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].first == LogLevel::error);
  CHECK(lines[1].first == LogLevel::info);
  CHECK(lines[2].first == LogLevel::debug);
}

TEST_CASE("a wait at the fence is reported once it is a stall") {
  const auto lines =
      told({lane_in(LaneState::running), fenced(milliseconds{5}), fenced(seconds{2})});
  CHECK(lines[1].first == LogLevel::debug);
  CHECK(lines[2].first == LogLevel::warn);
}

TEST_CASE("a stall is reported as one although the blocker's age is hidden from this role") {
  auto lane = fenced(milliseconds{0});
  lane.fenced_for = seconds{2};
  CHECK(told({lane_in(LaneState::running), lane}).back().first == LogLevel::warn);
}

TEST_CASE("a lost session is a warning, an ordinary claim is not") {
  auto lost = lane_in(LaneState::claiming);
  lost.detail = "server closed the connection";
  CHECK(describe(lost).level == LogLevel::warn);
  CHECK(describe(lane_in(LaneState::claiming)).level == LogLevel::debug);
}

TEST_CASE("a line's JSON members are valid JSON whatever they hold") {
  auto lane = halted();
  lane.detail = "say \"no\"\\ \x01\xff";
  const auto value = boost::json::parse('{' + json_members(describe(lane)) + '}');
  CHECK(value.at("process").as_string() == "booking_sms");
  CHECK(value.at("lane").as_int64() == 0);
  CHECK(value.at("state").as_string() == "halted");
  CHECK(value.at("reason").as_string() == "POISON");
  CHECK(value.at("position").as_string() == "4710");
  CHECK(value.at("row").as_string() == "4711");
  CHECK(value.at("detail").as_string() == "say \"no\"\\ \\x01\\xff");
}

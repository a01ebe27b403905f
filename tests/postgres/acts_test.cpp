// Acts on a cursor: one function in the database, for a person, `adopt` and the auditor.
#include <atomic>
#include <fstream>
#include <future>
#include <iterator>
#include <regex>

#include "postgres/desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::Expectation;
using std::chrono::milliseconds;

namespace {

/// Two lanes that nobody holds; each is at a row of its own.
struct TwoLanes : Desk {
  TwoLanes() {
    target.process.lanes = 2;
    target.source.key = "customer";
    database.run(
        "INSERT INTO seriatim.cursor (process_name, lane, lanes, epoch, state, reason, failed_id,"
        " attempts, detail) VALUES ('process', 0, 2, 5, 'halted', 'POISON', '1', 3, 'HTTP 422'),"
        " ('process', 1, 2, 9, 'halted', 'POISON', '2', 1, 'HTTP 422')");
  }
  std::string states() {
    return database.value("SELECT string_agg(state, ' ' ORDER BY lane) FROM seriatim.cursor");
  }
};

Actor seen(const Expectation& expected) {
  return {"alice@desk", "the number is wrong", {expected}};
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A function of the schema that is broken on purpose: `from` in its text is replaced.
struct Mutant {
  std::string function;
  std::string from;
  std::string to;
};

void apply(const std::optional<Mutant>& mutant, TestDatabase& database) {
  if (!mutant) return;
  auto text = database.value("SELECT pg_get_functiondef('" + mutant->function + "'::regproc)");
  const auto at = text.find(mutant->from);
  REQUIRE(at != std::string::npos);
  database.run(text.replace(at, mutant->from.size(), mutant->to));
}

// Judges: what was seen instead of what must hold. Empty: it holds.

std::string judge_call_in_flight(const std::optional<Mutant>& mutant = {}) {
  Desk desk;
  apply(mutant, desk.database);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.poll(1).records.size() == 1);
  REQUIRE(relay.start());
  const auto said = refusal([&] { desk.admin.pause(desk.target, alice); });
  if (desk.cursor("state") != "running") return "paused during a call";
  return contains(said, "the call of lane 0 by relay") ? "" : "refused for another reason: " + said;
}

std::string judge_expectation(const std::optional<Mutant>& mutant = {}) {
  TwoLanes desk;
  apply(mutant, desk.database);
  (void)refusal([&] { desk.admin.retry(desk.target, seen({.lane = 0, .attempts = 2})); });
  return desk.states() == "halted halted" ? "" : "changed, though it was seen otherwise";
}

}  // namespace

TEST_SUITE("acts") {
  TEST_CASE("what was seen of a lane counts if another lane is changed, or if that lane is gone") {
    TwoLanes desk;
    desk.database.run("UPDATE seriatim.cursor SET state = 'running' WHERE lane = 0");
    const auto said =
        refusal([&] { desk.admin.retry(desk.target, seen({.lane = 0, .state = "halted"})); });
    CHECK(contains(said, "lane 0 of process \"process\" is not as expected"));
    CHECK(contains(said, "its state is running, not halted"));
    CHECK(desk.states() == "running halted");
    CHECK(contains(refusal([&] { desk.admin.retry(desk.target, seen({.lane = 7})); }),
                   "process \"process\" has no lane 7, which was expected; nothing was changed"));
    CHECK(desk.states() == "running halted");
    desk.admin.retry(desk.target, seen({.lane = 1, .state = "halted"}));
    CHECK(desk.states() == "running running");
  }

  TEST_CASE(
      "an act that was interrupted before its change changes nothing, though its turn is free") {
    TwoLanes desk;
    Admin admin(desk.database.url(), [](const std::string& text) { return !text.empty(); });
    CHECK(contains(refusal([&] { admin.retry(desk.target, alice); }),
                   "process \"process\": given up; nothing was changed"));
    CHECK(desk.states() == "halted halted");
    CHECK(desk.journal("act").empty());
  }

  TEST_CASE("each act is in the journal: who, why, before and after") {
    Desk desk;
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver(1) == Ids{"1"});
    const auto& target = desk.target;
    const auto entry = [&](const std::string& more) {
      return desk.journal("act, who, why, lane, " + more);
    };
    desk.admin.pause(target, alice);
    CHECK(entry("detail#>>'{before,state}', detail#>>'{after,state}'") ==
          "pause|alice@desk|the number is wrong|0|running|paused");
    desk.admin.resume(target, alice);
    CHECK(entry("detail#>>'{before,state}', detail#>>'{after,state}'") ==
          "resume|alice@desk|the number is wrong|0|paused|running");
    halt_at_next(relay);
    desk.admin.retry(target, alice);
    CHECK(entry("row_id, detail#>>'{before,reason}', detail#>>'{after,state}'") ==
          "retry|alice@desk|the number is wrong|0|2|POISON|running");
    desk.admin.skip(target, "2", alice);
    CHECK(entry("row_id, detail#>>'{before,position_id}', detail#>>'{after,position_id}',"
                " detail#>>'{before,sequence}', detail#>>'{after,sequence}'") ==
          "skip|alice@desk|the number is wrong|0|2|1|2|1|2");
    desk.admin.rewind(target, {postgres::RewindPlace::Kind::row, "2"}, alice);
    CHECK(entry("row_id, detail#>>'{before,position_id}', detail#>>'{after,position_id}'") ==
          "rewind|alice@desk|the number is wrong|0|1|2|1");
    desk.database.run("UPDATE seriatim.cursor SET identity = identity || '{\"table_oid\": \"1\"}'");
    desk.admin.adopt(target, std::nullopt, alice);
    CHECK(entry("detail#>>'{before,identity,table_oid}'") ==
          "adopt|alice@desk|the number is wrong|0|1");
    desk.target.source.key = "customer";
    desk.admin.repartition(target, 2, alice, [](const std::string&) { return true; });
    CHECK(desk.journal("act, who, why") == "lanes|alice@desk|the number is wrong");
    CHECK(desk.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'barrier'"
                              " AND who = 'alice@desk' AND why IS NOT NULL") == "1");
  }

  TEST_CASE("an act on several lanes changes all of them, or none") {
    TwoLanes desk;
    const auto said =
        refusal([&] { desk.admin.retry(desk.target, seen({.lane = 1, .epoch = 8})); });
    CHECK(said ==
          "lane 1 of process \"process\" is not as expected: its epoch is 9, not 8; nothing was "
          "done: check again");
    CHECK(desk.states() == "halted halted");
    CHECK(desk.journal("act").empty());
    desk.admin.retry(desk.target, seen({.lane = 1, .epoch = 9}));
    CHECK(desk.states() == "running running");
  }

  TEST_CASE("an act changes nothing unless the lane is as the person saw it") {
    const Expectation all{.lane = 0, .epoch = 5, .state = "halted", .row = "1", .attempts = 3};
    struct {
      Expectation expected;
      const char* says;
    } const others[] = {{{.lane = 0, .epoch = 4}, "its epoch is 5, not 4"},
                        {{.lane = 0, .state = "paused"}, "its state is halted, not paused"},
                        {{.lane = 0, .row = "2"}, "its row is 1, not 2"},
                        {{.lane = 0, .row = ""}, "its row is 1, not none"},
                        {{.lane = 0, .attempts = 2}, "its attempts is 3, not 2"},
                        {{.state = "halted", .row = "1"}, "its row is 2, not 1"}};
    for (const auto& [expected, says] : others) {
      CAPTURE(says);
      TwoLanes desk;
      CHECK(contains(refusal([&] { desk.admin.retry(desk.target, seen(expected)); }), says));
      CHECK(desk.states() == "halted halted");
    }
    TwoLanes desk;
    desk.admin.retry(desk.target, seen(all));
    CHECK(desk.states() == "running running");
  }

  TEST_CASE("while a call is in flight an act waits without asking again and again") {
    Desk desk;
    desk.target.process.handler_deadline = milliseconds{60'000};
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    const auto record = relay.poll(1).records.at(0);
    REQUIRE(relay.start());
    std::atomic<int> asked = 0;
    std::string waits_for;
    Admin admin(desk.database.url(), [&](const std::string& text) {
      if (!text.empty()) waits_for = text;
      asked += 1;
      return true;
    });
    auto pausing = std::async(std::launch::async, [&] { return admin.pause(desk.target, alice); });
    // Ten times it could have been given up, which is a second: it asked the server a few times.
    wait_until("the act has waited", [&] { return asked >= 20; });
    const auto queries = desk.database.value(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'seriatim/operator'"
        " AND clock_timestamp() - query_start > interval '200 ms'");
    CHECK(queries == "1");
    CHECK(desk.database.value("SELECT split_part(hold_by, ' ', 1) FROM seriatim.cursor") ==
          "alice@desk");
    REQUIRE(relay.settle({std::nullopt, {record.position}, {}, Rest{}}));
    CHECK(pausing.get().at(0) == "lane 0: paused after row 1");
    CHECK(waits_for == "the call of lane 0 by relay");
    CHECK(desk.cursor("hold_by, hold_until").empty());
  }

  TEST_CASE("an act that is given up, or does not apply, takes its request for a turn back") {
    Desk desk;
    desk.target.process.handler_deadline = milliseconds{60'000};
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    const auto record = relay.poll(1).records.at(0);
    REQUIRE(relay.start());
    const auto held = "SELECT hold_until > clock_timestamp() FROM seriatim.cursor";
    SUBCASE("given up by the person") {
      std::atomic<bool> go_on = true;
      Admin admin(desk.database.url(), [&](const std::string&) { return go_on.load(); });
      auto said = std::async(std::launch::async,
                             [&] { return refusal([&] { admin.pause(desk.target, alice); }); });
      REQUIRE(desk.database.becomes_true(held));
      go_on = false;
      CHECK(contains(said.get(), "the wait for the call of lane 0 by relay was given up; nothing"));
    }
    SUBCASE("refused when it has its turn") {
      auto said = std::async(std::launch::async, [&] {
        return refusal([&] { desk.admin.pause(desk.target, seen({.attempts = 7})); });
      });
      REQUIRE(desk.database.becomes_true(held));
      REQUIRE(relay.settle({std::nullopt, {record.position}, {}, Rest{}}));
      CHECK(contains(said.get(), "its attempts is 0, not 7"));
    }
    CHECK(desk.cursor("state, hold_by, hold_until") == "running");
  }

  TEST_CASE("an act names the session that has locked a cursor, and what it does") {
    Desk desk;
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    auto other = desk.database.connect();
    const auto lock = [&](const std::string& statement) {
      other.run("BEGIN; SET application_name = 'psql of bob'");
      other.run(statement);
      const auto said = refusal([&] { desk.admin.pause(desk.target, alice); });
      CHECK(contains(said, "pid " + other.value("SELECT pg_backend_pid()") +
                               " (psql of bob), which is idle in transaction"));
      other.run("ROLLBACK");
    };
    lock("SELECT FROM seriatim.cursor FOR UPDATE");
    lock("LOCK TABLE seriatim.cursor IN EXCLUSIVE MODE");
    CHECK(desk.cursor("state") == "running");
  }

  TEST_CASE("an act that ignores a call in flight, or what was seen, is caught") {
    CHECK(judge_call_in_flight() == "");
    CHECK(judge_call_in_flight(Mutant{"seriatim.lanes_in_call", "c.call_epoch = c.epoch",
                                      "false"}) == "paused during a call");
    CHECK(judge_expectation() == "");
    CHECK(judge_expectation(Mutant{"seriatim.act", "IS DISTINCT FROM now.value", "IS NULL"}) ==
          "changed, though it was seen otherwise");
  }
}

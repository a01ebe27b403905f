// FAULTS.md 36: the relay is killed at each point of its way, and the next one goes on: no row is
// lost, none overtaken, and only rows after the last committed cursor are repeated.
#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>

#include "faults/crash_stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

constexpr int killed = 128 + 9;

/// Where the relay ends, what it has called by then, and what is committed.
struct Death {
  const char* at;
  int called;
  int committed;
};

/// The whole story is known from the point: how many rows are called twice is no matter of luck.
void check_deaths(const std::vector<Death>& deaths, const std::string& config, int rows) {
  for (const auto& death : deaths) {
    CAPTURE(death.at);
    CrashStage stage(rows, config);
    auto relay = stage.start("killed", {{"SERIATIM_CRASH_AT", death.at}});
    CHECK(relay->wait().code == killed);
    CHECK(stage.sequence() == std::to_string(death.committed));
    stage.append();
    relay = stage.start("next");
    REQUIRE(stage.cursor_reaches(rows + 1));
    CHECK(relay->stop().code == 0);
    CHECK(stage.calls() == CrashStage::calls_of(death.called, death.committed, rows + 1));
  }
}

}  // namespace

TEST_SUITE("crash points") {
  TEST_CASE("killed at any point of a row's way: at most the row in flight is called again") {
    check_deaths({{"before open", 0, 0},
                  {"before claim", 0, 0},
                  {"after claim", 0, 0},
                  {"after poll", 0, 0},
                  {"before start", 0, 0},
                  {"after start", 0, 0},
                  {"before call:3", 2, 2},
                  {"after call:3", 3, 2},
                  {"before settle:3", 3, 2},
                  {"after settle:3", 3, 3},
                  {"after settle:5", 5, 5}},
                 "", 5);
  }

  TEST_CASE("killed with ten rows a commit: the rows since the last one are called again") {
    check_deaths({{"before call:2", 10, 10},
                  {"after call:2", 20, 10},
                  {"before settle:2", 20, 10},
                  {"after settle:2", 20, 20}},
                 "commit_every = 10\n", 30);
  }

  TEST_CASE("killed in the middle of ten rows: those since the last commit are called again") {
    CrashStage stage(0, "commit_every = 10\n");
    auto relay = stage.start("killed");
    stage.receiver.reply_with([&](const ReceivedRequest& request) {
      if (request.header("Seriatim-Sequence") == "5") relay->kill();
      return Reply::with_status(200);
    });
    stage.append(10);
    CHECK(relay->wait().code == killed);
    stage.receiver.reply_with(Reply::with_status(200));
    relay = stage.start("next");
    REQUIRE(stage.cursor_reaches(10));
    CHECK(stage.calls() == CrashStage::calls_of(5, 0, 10));
  }

  TEST_CASE("killed while it lets the lane go: the next one has it at once, and no row is blamed") {
    for (const char* at : {"before release", "after release"}) {
      CAPTURE(at);
      CrashStage stage(3);
      auto relay = stage.start("killed", {{"SERIATIM_CRASH_AT", at}});
      REQUIRE(stage.cursor_reaches(3));
      CHECK(relay->stop().code == killed);
      stage.append();
      relay = stage.start("next");
      REQUIRE(stage.cursor_reaches(4));
      CHECK(relay->stop().code == 0);
      CHECK(stage.calls() == CrashStage::numbers(1, 4));
      CHECK(stage.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'claim'"
                                 " AND detail ->> 'crashed' = 'true'") == "0");
    }
  }

  TEST_CASE("an operator's program killed in the middle of an act has done nothing") {
    CrashStage stage(3);
    stage.receiver.push(Reply::with_status(422));
    const auto relay = stage.start("relay");
    REQUIRE(stage.state_becomes("halted"));
    const auto before = stage.cursor_and_journal();
    const std::vector<std::string> skip{"skip", "p", "1", "--reason", "gone"};
    for (const auto& act : {skip, {"retry", "p"}}) {
      for (const char* at : {"before act", "during act"}) {
        CAPTURE(at);
        CHECK(stage.verb(act, "relay", {{"SERIATIM_CRASH_AT", at}}).code == killed);
        CHECK(stage.cursor_and_journal() == before);
      }
    }
    CHECK(stage.verb(skip, "relay").code == 0);
    REQUIRE(stage.cursor_reaches(3));
    CHECK(relay->stop().code == 0);
    CHECK(stage.calls() == "1 2 3");
  }

  TEST_CASE("a pause killed half-way leaves the lane running") {
    CrashStage stage(1);
    const auto relay = stage.start("relay");
    REQUIRE(stage.cursor_reaches(1));
    CHECK(stage.verb({"pause", "p"}, "relay", {{"SERIATIM_CRASH_AT", "during act"}}).code ==
          killed);
    stage.append();
    REQUIRE(stage.cursor_reaches(2));
    CHECK(stage.calls() == "1 2");
  }
}

TEST_SUITE("crash loops") {
  TEST_CASE("killed after every row: each life delivers one, and none is repeated") {
    CrashStage stage(6);
    for (int life = 1; life <= 6; ++life) {
      const auto relay = stage.start("killed", {{"SERIATIM_CRASH_AT", "after settle"}});
      CHECK(relay->wait().code == killed);
      CHECK(stage.sequence() == std::to_string(life));
    }
    CHECK(stage.calls() == CrashStage::numbers(1, 6));
  }

  TEST_CASE("deaths before a row is begun are not laid at its door") {
    CrashStage stage(3);
    CHECK(stage.start("killed", {{"SERIATIM_CRASH_AT", "after call"}})->wait().code == killed);
    for (int life = 1; life <= 5; ++life) {
      const auto relay = stage.start("killed", {{"SERIATIM_CRASH_AT", "before start"}});
      CHECK(relay->wait().code == killed);
    }
    CHECK(stage.database.value("SELECT crashes || ' ' || attempts FROM seriatim.cursor") == "1 1");
    const auto relay = stage.start("next");
    REQUIRE(stage.cursor_reaches(3));
    CHECK(stage.calls() == "1 1 2 3");
    CHECK(stage.database.value("SELECT crashes || ' ' || attempts FROM seriatim.cursor") == "0 0");
  }

  TEST_CASE("killed in every call of a slow row: it halts after three, and `retry` lets it go on") {
    CrashStage stage(3);
    std::atomic<pid_t> victim = 0;
    stage.receiver.reply_with([&](const ReceivedRequest& request) {
      if (request.header("Seriatim-Sequence") != "2") return Reply::with_status(200);
      wait_until("the victim is known", [&] { return victim != 0; });
      ::kill(victim.exchange(0), SIGKILL);
      return Reply::with_status(200);
    });
    for (int life = 1; life <= 3; ++life) {
      const auto relay = stage.start("killed");
      victim = relay->pid();
      CHECK(relay->wait().code == killed);
    }
    const auto relay = stage.start("next");
    REQUIRE(stage.state_becomes("halted"));
    CHECK(stage.calls() == "1 2 2 2");
    CHECK(stage.database.value("SELECT reason || ' ' || failed_id FROM seriatim.cursor") ==
          "CRASHES 2");
    stage.receiver.reply_with(Reply::with_status(200));
    CHECK(stage.verb({"retry", "p"}, "next").code == 0);
    REQUIRE(stage.cursor_reaches(3));
    CHECK(stage.calls() == "1 2 2 2 2 3");
  }
}

// Acts from the command line: what they wait for, a person who gives up, a script that has seen
// something else.
#include <doctest/doctest.h>

#include <csignal>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// A relay whose receiver does not answer.
struct InCall : Stage {
  InCall() {
    receiver.reply_with(Reply::doing(Reply::Act::hang));
    configure(process("kind = \"http\"\nurl = \"" + receiver.url() + "\"\nallow_private = true",
                      "handler_deadline = \"60s\""));
    append();
    relay.emplace(command({"run"}), options());
    REQUIRE(receiver.wait_for_requests(1, 30s));
  }
  ~InCall() { relay->kill(); }

  HttpService receiver;
  std::optional<Process> relay;
};

}  // namespace

TEST_SUITE("acts from the command line") {
  TEST_CASE("an act says what it waits for; a signal ends it with nothing changed and no request") {
    for (const int signal : {SIGINT, SIGTERM}) {
      CAPTURE(signal);
      InCall stage;
      Process pause(Stage::command({"pause", "p", "--who", "alice"}), stage.options());
      REQUIRE(
          stage.database.becomes_true("SELECT hold_by LIKE 'alice (pid %' FROM seriatim.cursor"));
      pause.signal(signal);
      const auto ended = pause.wait();
      CHECK(ended.code == 1);
      CHECK(contains(ended.err, "waiting for the call of lane 0 by "));
      CHECK(contains(ended.err, "was given up; nothing was changed"));
      CHECK(stage.database.value("SELECT concat_ws(' ', state, hold_by) FROM seriatim.cursor") ==
            "running");
    }
  }

  TEST_CASE("--expect: an act changes nothing if the lane is not as a script saw it") {
    Stage stage;
    stage.append();
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    const auto refused = stage.seriatim({"pause", "p", "--expect", "state=halted", "row=7"});
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "its row is none, not 7, its state is running, not halted"));
    CHECK(contains(refused.err, "nothing was done: check again"));
    const auto epoch = stage.database.value("SELECT epoch FROM seriatim.cursor");
    CHECK(stage.seriatim({"pause", "p", "--expect", "state=running", "epoch=" + epoch}).code == 0);
    for (const char* wrong : {"sate=running", "attempts=many", "epoch=", "row"}) {
      CAPTURE(wrong);
      const auto usage = stage.seriatim({"resume", "p", "--expect", wrong});
      CHECK(usage.code == 2);
      CHECK(contains(usage.err, std::string("--expect ") + wrong));
    }
    CHECK(stage.database.value("SELECT state FROM seriatim.cursor") == "paused");
  }

  TEST_CASE("a filter that is changed: check counts, run asks, adopt decides, run goes on") {
    Stage stage;
    const auto with = [&](const std::string& source) {
      stage.configure(
          Stage::process("kind = \"log\"\nfile = \"" + stage.log.string() + "\"", "", source));
    };
    with("where = \"t.aggregate_id = 'b'\"");
    stage.append(2);
    stage.database.run("SELECT seriatim.append('booking', 'c', 'booked', '{}')");
    stage.append(1);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    REQUIRE(stage.lines_in_log() == 3);
    with("");
    const auto checked = stage.seriatim({"check"});
    CHECK(checked.code == 1);
    CHECK(contains(checked.out, "it takes 1 row behind the cursors now"));
    CHECK(stage.seriatim({"run", "--drain"}).code == 3);
    const auto status = stage.seriatim({"status"});
    CHECK(status.code == 3);
    CHECK(contains(status.out, "--source-changed --old-rows skip (or deliver) --reason TEXT"));
    for (const auto& half :
         std::vector<std::vector<std::string>>{{"--source-changed"},
                                               {"--old-rows", "skip"},
                                               {"--source-changed", "--old-rows", "all"}}) {
      auto arguments = std::vector<std::string>{"adopt", "p", "--reason", "r"};
      arguments.insert(arguments.end(), half.begin(), half.end());
      CHECK(stage.seriatim(arguments).code == 2);
    }
    const auto adopted = stage.seriatim(
        {"adopt", "p", "--source-changed", "--old-rows", "deliver", "--reason", "ticket 17"});
    CHECK(adopted.code == 0);
    CHECK(contains(adopted.out, "1 old rows go out late, in between new ones; goes on"));
    CHECK(contains(stage.seriatim({"status"}).out, "1 late"));
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.lines_in_log() == 4);
    CHECK(stage.seriatim({"audit", "p"}).code == 0);
  }
}

// `seriatim run` as a service: its log, its signals, and surroundings that fail it (FAULTS 38, 39).
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <sstream>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// A receiver that never answers, so that a call is in flight.
struct HangingStage : Stage {
  HangingStage() {
    receiver.reply_with(Reply::doing(Reply::Act::hang));
    configure(process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\""));
    append();
  }
  HttpService receiver;
};

void check_delivers(Stage& stage, const Process::Options& options) {
  Process relay(Stage::command({"run", "--log-level", "debug"}), options);
  stage.append(20);
  wait_until("all rows are delivered", [&] { return stage.lines_in_log() == 20; });
  relay.signal(15);
  CHECK(relay.wait().code == 0);
  CHECK(stage.sequence() == "20");
}

}  // namespace

TEST_SUITE("run") {
  TEST_CASE("the log has one line a change, with process, lane and position") {
    Stage stage;
    stage.append(2);
    const auto ended = stage.seriatim({"run", "--drain"});
    CHECK(ended.code == 0);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, "runs p (log)"));
    CHECK(contains(ended.err, "info    p/0 running"));
    CHECK(contains(ended.err, "p/0 stopped after 2"));
  }

  TEST_CASE("--log-format json writes one valid object a line") {
    Stage stage;
    stage.append(2);
    const auto ended =
        stage.seriatim({"run", "--drain", "--log-format", "json", "--log-level", "debug"});
    std::istringstream lines(ended.err);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      CAPTURE(line);
      const auto value = boost::json::parse(line);
      CHECK(value.at("ts").as_string().size() == 24);
      CHECK(value.as_object().contains("message"));
      if (count == 0) continue;  // the opening, of no process
      CHECK(value.at("process").as_string() == "p");
      if (count == 1) continue;  // where the process begins, of no lane
      CHECK(value.at("lane").as_int64() == 0);
      CHECK(value.as_object().contains("state"));
    }
    CHECK(count >= 3);
  }

  TEST_CASE("--json says how every lane was left") {
    Stage stage;
    stage.append(2);
    const auto json = boost::json::parse(stage.seriatim({"run", "--drain", "--json"}).out);
    CHECK(json.at("lanes").at(0).at("sequence").as_int64() == 2);
  }

  TEST_CASE("a closed stdout and stderr do not hold up delivery") {
    Stage stage;
    auto options = stage.options();
    options.out_closed = options.err_closed = true;
    check_delivers(stage, options);
  }

  TEST_CASE("a full log disk does not hold up delivery") {
    Stage stage;
    auto options = stage.options();
    options.out_file = options.err_file = "/dev/full";
    check_delivers(stage, options);
  }

  TEST_CASE("a log that nobody reads does not hold up delivery") {
    Stage stage;
    const auto fifo = stage.folder.path() / "stuck";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    std::fstream reader(fifo, std::ios::in | std::ios::out);  // open at both ends, never read
    reader << std::string(65'536, 'x') << std::flush;         // and full
    auto options = stage.options();
    options.err_file = fifo;
    Process relay(Stage::command({"run", "--log-level", "debug"}), options);
    stage.append(20);
    wait_until("all rows are delivered", [&] { return stage.lines_in_log() == 20; });
  }

  TEST_CASE("sixteen file descriptors are enough") {
    Stage stage;
    auto options = stage.options();
    options.files_max = 16;
    check_delivers(stage, options);
  }

  TEST_CASE("sixteen file descriptors are enough for a webhook and its database") {
    Stage stage;
    HttpService receiver;
    stage.configure(
        Stage::process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\""));
    auto options = stage.options();
    options.files_max = 16;
    Process relay(Stage::command({"run"}), options);
    Reply last = Reply::with_status(200);
    last.close_after = true;  // a new connection each: none is leaked
    receiver.reply_with(last);
    stage.append(20);
    wait_until("all rows are committed", [&] { return stage.sequence() == "20"; });
    CHECK(receiver.connections_accepted() >= 20);
    relay.signal(15);
    CHECK(relay.wait().code == 0);
  }

  TEST_CASE("too few file descriptors end cleanly or deliver, and never drop a row") {
    for (const unsigned files : {4U, 6U, 8U}) {
      CAPTURE(files);
      Stage stage;
      stage.append(3);
      auto options = stage.options();
      options.files_max = files;
      {
        Process relay(Stage::command({"run", "--drain"}), options);
        const auto ended = relay.wait_at_most(2s);
        const bool cleanly = !ended || ended->code <= 2;
        const bool not_loaded = ended && ended->code == 127;  // the loader had no descriptor left
        CHECK((cleanly || not_loaded));
      }
      CHECK(std::to_string(stage.lines_in_log()) == stage.sequence());
      CHECK(stage.seriatim({"run", "--drain"}).code == 0);
      CHECK(stage.lines_in_log() == 3);
    }
  }

  TEST_CASE("SIGTERM lets the call in flight finish, and its row counts") {
    Stage stage;
    HttpService receiver;
    Reply slow = Reply::with_status(200);
    slow.delay = 500ms;
    receiver.reply_with(slow);
    stage.configure(
        Stage::process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\""));
    stage.append(5);
    Process relay(Stage::command({"run"}), stage.options());
    REQUIRE(receiver.wait_for_requests(1, 20s));
    relay.signal(15);
    const auto ended = relay.wait();
    CHECK(ended.code == 0);
    CHECK(contains(ended.err, "stopping on SIGTERM"));
    CHECK(receiver.request_count() == 1);
    CHECK(stage.sequence() == "1");
  }

  TEST_CASE("a closed terminal and timeout(1) signal twice: that is one clean stop") {
    for (const int number : {SIGHUP, SIGTERM}) {
      CAPTURE(number);
      Stage stage;
      HttpService receiver;
      Reply slow = Reply::with_status(200);
      slow.delay = 500ms;
      receiver.reply_with(slow);
      stage.configure(Stage::process("kind = \"http\"\nallow_private = true\nurl = \"" +
                                     receiver.url() + "\""));
      stage.append(5);
      Process relay(Stage::command({"run"}), stage.options());
      REQUIRE(receiver.wait_for_requests(1, 20s));
      relay.signal(number);
      relay.wait_for_errors("stopping on SIG");
      relay.signal(number);
      CHECK(relay.wait().code == 0);
      CHECK(receiver.request_count() == 1);
      CHECK(stage.sequence() == "1");
    }
  }

  TEST_CASE("under nohup a closed terminal does not stop it") {
    Stage stage;
    auto command = Stage::command({"run"});
    command.insert(command.begin(), "nohup");
    Process relay(command, stage.options());
    relay.wait_for_errors("p/0 idle");
    relay.signal(SIGHUP);
    CHECK_FALSE(relay.wait_at_most(200ms));
    stage.append();
    wait_until("the row is delivered", [&] { return stage.lines_in_log() == 1; });
    relay.signal(SIGTERM);
    CHECK(relay.wait().code == 0);
  }

  TEST_CASE("a second signal ends a hanging call at once, and the row is not lost") {
    HangingStage stage;
    Process relay(Stage::command({"run"}), stage.options());
    REQUIRE(stage.receiver.wait_for_requests(1, 20s));
    relay.signal(15);
    relay.wait_for_errors("stopping on SIGTERM");
    CHECK_FALSE(relay.wait_at_most(100ms));
    relay.signal(2);
    const auto ended = relay.wait(5s);
    CHECK(ended.code == 128 + 2);
    CHECK(stage.sequence() == "0");
    stage.receiver.reply_with(Reply::with_status(200));
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.sequence() == "1");
  }

  TEST_CASE("the end of the grace ends a hanging call") {
    HangingStage stage;
    Process relay(Stage::command({"run", "--grace", "200ms"}), stage.options());
    REQUIRE(stage.receiver.wait_for_requests(1, 20s));
    relay.signal(15);
    const auto ended = relay.wait(10s);
    CHECK(ended.code == 128 + 15);
    CHECK(contains(ended.err, "the grace is over"));
  }

  TEST_CASE("a database that is away at start is waited for, unless draining") {
    const Stage stage;
    std::ofstream(stage.folder.path() / "seriatim.toml")
        << "[database]\nurl = \"postgresql://127.0.0.1:1/x\"\n"
        << Stage::process("kind = \"log\"");
    CHECK(stage.seriatim({"run", "--drain"}).code == 1);
    Process relay(Stage::command({"run"}), stage.options());
    relay.wait_for_errors("waiting for the database");
    relay.signal(15);
    CHECK(relay.wait().code == 0);
  }

  TEST_CASE("a lane that another relay holds was not drained, and the exit code says so") {
    Stage stage;
    Process relay(Stage::command({"run"}), stage.options());
    stage.append();
    wait_until("the row is delivered", [&] { return stage.lines_in_log() == 1; });
    const auto ended = stage.seriatim({"run", "--drain"});
    CHECK(ended.code == 1);
    CHECK(contains(ended.err, "p/0 standby"));
    CHECK(contains(ended.err, "held by "));
    relay.signal(15);
    CHECK(relay.wait().code == 0);
  }

  TEST_CASE("only the processes named are run") {
    Stage stage;
    const auto other = stage.folder.path() / "other.jsonl";
    stage.configure(Stage::process("kind = \"log\"\nfile = \"" + stage.log.string() + "\"") +
                    "[[process]]\nname = \"q\"\n[process.handler]\nkind = \"log\"\nfile = \"" +
                    other.string() + "\"\n");
    stage.append();
    CHECK(stage.seriatim({"run", "q", "--drain"}).code == 0);
    CHECK(stage.lines_in_log() == 0);
    CHECK(std::filesystem::exists(other));
    CHECK(stage.seriatim({"run", "r", "--drain"}).code == 2);
  }
}

// The example receiver, with everything around it killed and frozen: each event takes effect once.
#include <doctest/doctest.h>
#include <signal.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::testing;

namespace {

struct Stage {
  explicit Stage(int rows) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id);"
        "INSERT INTO t (payload) SELECT 'event-' || n FROM generate_series(1, " +
        std::to_string(rows) + ") AS n");
    start_receiver();
  }
  /// At the first time on any port, later on the same.
  void start_receiver() {
    receiver =
        std::make_unique<Process>(std::vector<std::string>{RECEIVER_EXAMPLE, port, file.string()});
    receiver->wait_for_output("\n");
    const auto& said = receiver->out();
    port = said.substr(said.rfind(' ') + 1, said.find('\n') - said.rfind(' ') - 1);
  }
  void kill_receiver() {
    receiver->signal(SIGKILL);
    receiver->wait();
  }
  std::unique_ptr<RelayProgram> relay(const std::string& name,
                                      const RelayProgram::Hooks& hooks = {}) {
    return std::make_unique<RelayProgram>(
        folder, name,
        database_section(database.url()) +
            http_process("p", "public.t", "created_at", "http://127.0.0.1:" + port + "/",
                         "lease = \"2s\"\nstandby_interval = \"50ms\"\nhandler_deadline = \"2s\"\n"
                         "backoff = { first = \"10ms\", max = \"50ms\" }\n"),
        hooks);
  }
  Ended verb(std::vector<std::string> arguments, const std::string& name) const {
    arguments.insert(arguments.begin(), SERIATIM_PROGRAM);
    arguments.insert(arguments.end(), {"--config", (folder.path() / (name + ".toml")).string()});
    return run(std::move(arguments));
  }
  bool cursor_reaches(int sequence) {
    return database.becomes_true("SELECT sequence >= " + std::to_string(sequence) +
                                 " FROM seriatim.cursor");
  }
  bool state_becomes(const std::string& state) {
    return database.becomes_true("SELECT state = '" + state + "' FROM seriatim.cursor");
  }
  /// What took effect: "event-1 event-2 …".
  [[nodiscard]] std::string effects() const {
    std::ifstream in(file);
    std::string text;
    for (std::string line; std::getline(in, line);) {
      text += (text.empty() ? "" : " ") + line.substr(line.rfind(' ') + 1);
    }
    return text;
  }
  static std::string events(int rows) {
    std::string text;
    for (int n = 1; n <= rows; ++n) text += (n == 1 ? "event-" : " event-") + std::to_string(n);
    return text;
  }

  TestDatabase database;
  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "events";
  std::unique_ptr<Process> receiver;
  std::string port = "0";
};

}  // namespace

TEST_SUITE("a receiver that takes each event once") {
  TEST_CASE("relays are killed and frozen, the receiver too: each event takes effect once") {
    Stage stage(40);
    for (const char* at : {"after call:5", "before settle:5", "before call:5"}) {
      const auto killed = stage.relay("killed", {{"SERIATIM_CRASH_AT", at}});
      CHECK(killed->wait().code == 128 + SIGKILL);
      stage.kill_receiver();
      stage.start_receiver();
    }
    const auto frozen = stage.relay("frozen", {{"SERIATIM_STOP_AT", "before call:5"}});
    REQUIRE(stage.cursor_reaches(16));
    const auto successor = stage.relay("successor");
    REQUIRE(stage.cursor_reaches(30));
    stage.kill_receiver();
    frozen->signal(SIGCONT);
    stage.start_receiver();
    REQUIRE(stage.cursor_reaches(40));
    CHECK(stage.effects() == Stage::events(40));
    CHECK(frozen->stop().code == 0);
  }

  TEST_CASE("a row set aside at the sender is no gap, and a receiver that was restarted knows") {
    Stage stage(3);
    const auto relay = stage.relay("relay");
    REQUIRE(stage.cursor_reaches(3));
    CHECK(stage.verb({"pause", "p"}, "relay").code == 0);
    stage.database.run("INSERT INTO t (payload) VALUES ('unwanted'), ('event-4')");
    CHECK(stage.verb({"skip", "p", "4", "--reason", "unwanted"}, "relay").code == 0);
    CHECK(stage.verb({"resume", "p"}, "relay").code == 0);
    REQUIRE(stage.cursor_reaches(5));
    stage.kill_receiver();
    stage.start_receiver();
    stage.database.run("INSERT INTO t (payload) VALUES ('event-5')");
    REQUIRE(stage.cursor_reaches(6));
    CHECK(stage.effects() == Stage::events(5));
  }

  TEST_CASE("a record that never came is a gap, and halts the lane until a person has checked") {
    Stage stage(3);
    const auto relay = stage.relay("relay");
    REQUIRE(stage.cursor_reaches(3));
    stage.kill_receiver();
    std::ofstream(stage.file) << "p 0 1 1 0 1 event-1\np 0 1 2 0 2 event-2\n";  // the last is lost
    stage.start_receiver();
    stage.database.run("INSERT INTO t (payload) VALUES ('event-4')");
    REQUIRE(stage.state_becomes("halted"));
    const auto status = stage.verb({"status"}, "relay").out;
    CHECK_MESSAGE(status.find("record 3 never came before record 4") != std::string::npos, status);
    CHECK(stage.effects() == Stage::events(2));

    stage.kill_receiver();
    std::ofstream(stage.file, std::ios::app) << "p 0 1 3 0 3 event-3\n";
    stage.start_receiver();
    CHECK(stage.verb({"retry", "p"}, "relay").code == 0);
    REQUIRE(stage.cursor_reaches(4));
    CHECK(stage.effects() == Stage::events(4));
  }
}

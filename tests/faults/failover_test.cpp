// Two programs on one lane, and the deaths that make one follow the other.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>

#include "lab/http/http_service.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

struct Stage {
  Stage() {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id)");
  }
  void append(int rows = 1) {
    database.run("INSERT INTO t (payload) SELECT 'x' FROM generate_series(1, " +
                 std::to_string(rows) + ")");
  }
  std::string config(const std::string& more = {}) const {
    return database_section(database.url()) +
           http_process("p", "public.t", "created_at", receiver.url(), more);
  }
  std::string holder_pid() {
    return database.value("SELECT split_part(holder, ':', 2) FROM seriatim.cursor");
  }
  bool holder_becomes(pid_t pid) {
    return database.becomes_true("SELECT split_part(holder, ':', 2) = '" + std::to_string(pid) +
                                 "' FROM seriatim.cursor");
  }

  TestDatabase database;
  HttpService receiver;
  TemporaryFolder folder;
};

}  // namespace

TEST_SUITE("failover") {
  TEST_CASE("the standby takes over soon after kill -9 of the holder, busy or idle") {
    Stage stage;
    std::unique_ptr<RelayProgram> holder =
        std::make_unique<RelayProgram>(stage.folder, "relay0", stage.config());
    stage.append();
    REQUIRE(stage.receiver.wait_for_requests(1, 30s));
    for (int round = 1; round <= 5; ++round) {
      auto standby = std::make_unique<RelayProgram>(stage.folder, "relay" + std::to_string(round),
                                                    stage.config());
      REQUIRE(stage.database.becomes_true(
          "SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'seriatim/p/0'"
          " AND datname = current_database()"));
      REQUIRE(stage.holder_becomes(holder->pid()));
      const auto before = stage.receiver.request_count();
      const auto killed = Clock::now();
      holder->kill();
      stage.append();
      REQUIRE(stage.receiver.wait_for_requests(before + 1, 30s));
      const auto took =
          std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - killed);
      MESSAGE("take-over after kill -9, to the first call: ", took.count(), " ms");
      WARN(took < 1s);  // the bound users read of; a fact with slack is what is asserted
      CHECK(took < 5s);
      CHECK(stage.holder_becomes(standby->pid()));
      holder = std::move(standby);
    }
    CHECK(holder->stop().code == 0);
  }

  TEST_CASE("a frozen holder that is replaced starts no call and moves no cursor when it thaws") {
    Stage stage;
    RelayProgram frozen(stage.folder, "frozen", stage.config("lease = \"1s\"\n"));
    stage.append();
    REQUIRE(stage.receiver.wait_for_requests(1, 30s));
    REQUIRE(stage.database.becomes_true("SELECT sequence = 1 FROM seriatim.cursor"));
    frozen.signal(SIGSTOP);
    stage.append();
    RelayProgram successor(stage.folder, "successor", stage.config("lease = \"1s\"\n"));
    REQUIRE(stage.holder_becomes(successor.pid()));
    REQUIRE(stage.receiver.wait_for_requests(2, 30s));
    const auto epoch = stage.receiver.last_request().header("Seriatim-Epoch");
    frozen.signal(SIGCONT);
    for (std::size_t i = 3; i <= 20; ++i) {
      stage.append();
      REQUIRE(stage.receiver.wait_for_requests(i, 30s));
      CHECK(stage.receiver.last_request().header("Seriatim-Epoch") == epoch);
    }
    CHECK(stage.holder_pid() == std::to_string(successor.pid()));
    CHECK(stage.receiver.request_count() == 20);
    CHECK(frozen.stop().code == 0);
    CHECK(successor.stop().code == 0);
  }

  TEST_CASE("a holder whose backend is ended in the middle of a batch begins no further call") {
    Stage stage;
    stage.receiver.reply_with(Reply{.delay = 20ms});
    const auto config = stage.config("commit_every = 200\nbatch_rows = 200\nmax_hold = \"60s\"\n");
    RelayProgram holder(stage.folder, "holder", config);
    REQUIRE(stage.holder_becomes(holder.pid()));
    RelayProgram standby(stage.folder, "standby", config);
    stage.append(100);
    REQUIRE(stage.receiver.wait_for_requests(10, 30s));
    REQUIRE(stage.database.value(  // and waits until it is gone
                "SELECT pg_terminate_backend(holder_pid, 10000) FROM seriatim.cursor") == "t");
    const auto before = stage.receiver.request_count();
    REQUIRE(stage.database.becomes_true("SELECT sequence = 100 FROM seriatim.cursor"));
    // Nothing was committed, so whoever has the lane then begins with the first row again.
    const auto requests = stage.receiver.requests();
    const auto again = std::find_if(requests.begin() + 1, requests.end(), [](const auto& request) {
      return request.header("Seriatim-Sequence") == "1";
    });
    const auto begun = static_cast<std::size_t>(again - requests.begin());
    MESSAGE(before, " calls were seen when it was ended, ", begun, " were begun");
    CHECK(begun <= before + 3);  // in flight, and begun before the end was heard of
    CHECK(holder.stop().code == 0);
    CHECK(standby.stop().code == 0);
  }

  TEST_CASE("a clean stop hands the lane over at once") {
    Stage stage;
    RelayProgram first(stage.folder, "first", stage.config());
    stage.append();
    REQUIRE(stage.receiver.wait_for_requests(1, 30s));
    RelayProgram second(stage.folder, "second", stage.config());
    CHECK(first.stop().code == 0);
    stage.append();
    REQUIRE(stage.receiver.wait_for_requests(2, 30s));
    CHECK(stage.holder_becomes(second.pid()));
    CHECK(stage.receiver.last_request().header("Seriatim-Sequence") == "2");
    CHECK(second.stop().code == 0);
  }
}

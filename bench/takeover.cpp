// How long until another relay makes the next call, for every way a holder can be lost, with the
// default configuration: bench/run --only takeover. Figures: docs/operations.md.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "embedded/embedded_server.hpp"
#include "faults/network_stage.hpp"
#include "seriatim/postgres.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

namespace {

constexpr std::size_t repeats = 5;
constexpr auto patience = 120s;

/// A holder that reaches its database and its receiver through proxies, and a standby.
struct Pair {
  explicit Pair(bool busy) : stage(1), under_call(busy) {
    const auto database = stage.database.url() + "?host=127.0.0.1&sslmode=disable&port=" +
                          std::to_string(stage.to_database.port());
    holder =
        start("holder", database, "http://127.0.0.1:" + std::to_string(stage.to_receiver.port()));
    REQUIRE(stage.cursor_reaches(1));
    standby = start("standby", stage.database.url(), stage.receiver.url());
    REQUIRE(stage.database.becomes_true(
        "SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'seriatim/p/0'"
        " AND datname = current_database()"));
    if (!under_call) return;
    stage.to_receiver.set({{}, {.held = true}});
    stage.append();
    REQUIRE(stage.receiver.wait_for_requests(2, 30s));
  }
  std::unique_ptr<RelayProgram> start(const std::string& name, const std::string& database,
                                      const std::string& receiver) const {
    return std::make_unique<RelayProgram>(
        stage.folder, name,
        database_section(database) + http_process("p", "public.t", "created_at", receiver));
  }
  void lose(const std::function<void(Pair&)>& how) {
    lost_at = Clock::now();
    how(*this);
    if (!under_call) stage.append();
  }
  double seconds_to_next_call() {
    const std::size_t calls = under_call ? 3 : 2;
    REQUIRE(stage.receiver.wait_for_requests(calls, patience));
    return Seconds(stage.receiver.requests()[calls - 1].at - lost_at).count();
  }

  NetworkStage stage;
  bool under_call;
  std::unique_ptr<RelayProgram> holder;
  std::unique_ptr<RelayProgram> standby;
  Clock::time_point lost_at;
};

void report(const char* what, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  std::printf("%-42s median %6.2f s, %6.2f – %6.2f s, n = %zu\n", what, seconds[seconds.size() / 2],
              seconds.front(), seconds.back(), seconds.size());
}

/// All repeats at once: they only wait.
void measure(const char* what, bool busy, const std::function<void(Pair&)>& how) {
  std::vector<std::unique_ptr<Pair>> pairs;
  for (std::size_t i = 0; i < repeats; ++i) pairs.push_back(std::make_unique<Pair>(busy));
  for (const auto& pair : pairs) pair->lose(how);
  std::vector<double> seconds;
  for (const auto& pair : pairs) seconds.push_back(pair->seconds_to_next_call());
  report(what, seconds);
}

void die(Pair& pair) {
  pair.holder->kill();
}
void cut(Pair& pair) {
  REQUIRE(pair.stage.to_database.cut());
}
void vanish(Pair& pair) {
  cut(pair);
  die(pair);
}

}  // namespace

TEST_CASE("take-over") {
  measure("clean stop", false, [](Pair& pair) { pair.holder->signal(SIGTERM); });
  measure("process death (kill -9), idle", false, die);
  measure("process death (kill -9), under a call", true, die);
  measure("host death, idle", false, vanish);
  measure("host death, under a call", true, vanish);
  measure("network cut to the database, idle", false, cut);
  measure("network cut to the database, under a call", true, cut);
}

TEST_CASE("the database restarts: the same holder goes on") {
  const TemporaryFolder folder;
  seriatim::embedded::EmbeddedServer server({folder.path() / "postgres", {}, {}});
  seriatim::install_schema(server.url());
  SqlSession(server.url())
      .run(
          "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
          " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
          "INSERT INTO t (payload) VALUES ('x')");
  const HttpService receiver;
  const RelayProgram relay(
      folder, "relay",
      database_section(server.url()) + http_process("p", "public.t", "created_at", receiver.url()));
  REQUIRE(receiver.wait_for_requests(1, 30s));
  std::vector<double> seconds;
  for (std::size_t i = 0; i < repeats; ++i) {
    const auto all = "SELECT sequence = " + std::to_string(i + 1) + " FROM seriatim.cursor";
    wait_until("the cursor is committed",  // else the row before is called again
               [&] { return SqlSession(server.url()).value(all) == "t"; });
    server.stop(seriatim::embedded::EmbeddedServer::Stop::immediate);
    server.start();
    const auto up = Clock::now();
    SqlSession(server.url()).run("INSERT INTO t (payload) VALUES ('x')");
    REQUIRE(receiver.wait_for_requests(i + 2, patience));
    seconds.push_back(Seconds(receiver.last_request().at - up).count());
  }
  report("database restart, from its being up", seconds);
}

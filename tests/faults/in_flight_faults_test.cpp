// FAULTS 1, 3, 27 with several calls in flight: programs that are killed, and connections that are
// cut, against a receiver over HTTP.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "lab/http/http_service.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

constexpr int rows = 3'000;
constexpr int keys = 60;
constexpr std::size_t in_flight = 16;
constexpr std::size_t commit_every = 8;

struct Stage {
  Stage() {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text,"
        " payload text, created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id)");
    database.run("INSERT INTO t (key, payload) SELECT g % " + std::to_string(keys) + ", g % " +
                 std::to_string(keys) + " FROM generate_series(1, " + std::to_string(rows) +
                 ") AS g");
    receiver.reply_with([](const ReceivedRequest&) {
      Reply reply;
      reply.delay = 5ms;
      return reply;
    });
  }
  std::unique_ptr<RelayProgram> start() {
    const auto name = "relay" + std::to_string(started++);
    const auto more = "in_flight = " + std::to_string(in_flight) +
                      "\ncommit_every = " + std::to_string(commit_every) + "\n";
    return std::make_unique<RelayProgram>(
        folder, name,
        database_section(database.url()) +
            http_process("p", "public.t", "created_at", receiver.url(), more, "key = \"key\"\n"));
  }
  bool wait_for_requests(std::size_t count) { return receiver.wait_for_requests(count, 60s); }
  /// Requests beyond the first for a row. Each row came, in the order of its key, under one number.
  std::size_t repeats() {
    std::map<std::string, long> last_of_key;
    std::map<long, std::string> number;
    std::size_t repeats = 0;
    for (const auto& request : receiver.requests()) {
      const auto idempotency = *request.header("Idempotency-Key");
      CHECK(request.header("Seriatim-Order") == "key");
      const auto id = std::stol(idempotency.substr(idempotency.find(':') + 1));
      const auto [known, first] = number.emplace(id, *request.header("Seriatim-Sequence"));
      CHECK(known->second == *request.header("Seriatim-Sequence"));
      if (!first) {
        ++repeats;
        continue;
      }
      auto& last = last_of_key[request.body];
      CHECK(id > last);
      last = id;
    }
    CHECK(number.size() == rows);
    return repeats;
  }

  TestDatabase database;
  HttpService receiver;
  TemporaryFolder folder;
  int started = 0;
};

std::ptrdiff_t threads_of(const RelayProgram& relay) {
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(relay.pid()) + "/task");
  return std::distance(begin(tasks), end(tasks));
}

}  // namespace

TEST_SUITE("several calls in flight, with faults") {
  TEST_CASE("sixteen calls of the program's http handler share a thread") {
    Stage stage;
    const auto relay = stage.start();
    REQUIRE(stage.wait_for_requests(500));
    CHECK(stage.receiver.connections_open() == in_flight);
    CHECK(threads_of(*relay) < std::ptrdiff_t{in_flight});
    CHECK(relay->stop().code == 0);
  }

  TEST_CASE(
      "kill -9 amid sixteen calls: nothing lost, each key in order, repeats within the bound") {
    Stage stage;
    std::size_t kills = 0;
    auto relay = stage.start();
    for (std::size_t seen = 400; seen <= 2'400; seen += 400) {
      REQUIRE(stage.wait_for_requests(seen));
      relay->kill();
      relay->wait();
      kills += 1;
      relay = stage.start();
    }
    REQUIRE(stage.database.becomes_true(
        "SELECT sequence = " + std::to_string(rows) + " AND ahead IS NULL FROM seriatim.cursor",
        120));
    CHECK(relay->stop().code == 0);
    const auto repeats = stage.repeats();
    MESSAGE(repeats, " repeats after ", kills, " kills");
    CHECK(repeats <= kills * (in_flight + commit_every));
    CHECK(stage.database.value("SELECT crashes FROM seriatim.cursor") == "0");
  }

  TEST_CASE("a stop amid sixteen calls repeats nothing") {
    Stage stage;
    for (std::size_t seen = 500; seen <= 2'500; seen += 500) {
      const auto relay = stage.start();
      REQUIRE(stage.wait_for_requests(seen));
      CHECK(relay->stop().code == 0);
      CHECK(stage.database.value("SELECT attempts = 0 AND call_epoch IS NULL FROM "
                                 "seriatim.cursor") == "t");
    }
    const auto relay = stage.start();
    REQUIRE(stage.database.becomes_true(
        "SELECT sequence = " + std::to_string(rows) + " FROM seriatim.cursor", 120));
    CHECK(relay->stop().code == 0);
    CHECK(stage.repeats() == 0);
  }
}

// Promise P7: what was handed over is still there after a crash of the server, although producers
// do not wait for their commits (synchronous_commit = off) and the server flushes late.
#include <doctest/doctest.h>

#include <atomic>
#include <set>

#include "lab/http/http_service.hpp"
#include "seriatim/postgres.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim;
using namespace seriatim::lab;
using namespace seriatim::testing;
using embedded::EmbeddedServer;

namespace {

/// A server that flushes nothing of its own accord, and a receiver in whose calls it crashes.
class CrashingServer {
 public:
  explicit CrashingServer(const RelayProgram::Hooks& hooks)
      : server_({folder_.path() / "postgres",
                 {"fsync=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB",
                  "bgwriter_lru_maxpages=0", "autovacuum=off"},
                 {}}) {
    install_schema(server_.url());
    SqlSession(server_.url())
        .run(
            "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
            " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
            "CREATE INDEX ON t (created_at, id)");
    receiver_.reply_with([this](const ReceivedRequest&) {
      wait_until("the gate opens", [this] { return open_.load(); });
      return Reply::with_status(200);
    });
    relay_ = std::make_unique<RelayProgram>(
        folder_, "relay",
        database_section(server_.url()) +
            http_process("p", "public.t", "created_at", receiver_.url(),
                         "poll_interval_max = \"20ms\"\nstandby_interval = \"50ms\"\n"),
        hooks);
  }
  ~CrashingServer() { open_ = true; }

  /// Rows of a producer that does not wait for its commits; the server crashes in the call of one.
  void crash_in_a_call() {
    round_ += 1;
    produce(5);
    wait_until("all is delivered", [&] { return pending().empty(); });
    open_ = false;
    produce(1);
    wait_until("the last row is called", [&] { return pending().empty(); });
    server_.stop(EmbeddedServer::Stop::immediate);
    open_ = true;
    server_.start();
  }
  /// Handed over, and undone by the crash.
  std::set<std::string> phantoms() {
    std::set<std::string> gone;
    const auto there = payloads();
    for (const auto& payload : delivered()) {
      if (!there.contains(payload)) gone.insert(payload);
    }
    return gone;
  }
  /// Committed, and not handed over yet.
  std::set<std::string> pending() {
    auto left = payloads();
    for (const auto& payload : delivered()) left.erase(payload);
    return left;
  }

 private:
  void produce(int rows) {
    SqlSession producer(server_.url());
    producer.run("SET synchronous_commit = off");
    for (int n = 1; n <= rows; ++n) {
      producer.run("INSERT INTO t (payload) VALUES ('" + std::to_string(round_) + "/" +
                   std::to_string(rows) + "/" + std::to_string(n) + "')");
    }
  }
  std::set<std::string> payloads() {
    std::set<std::string> all;
    for (const auto& row : SqlSession(server_.url()).run("SELECT payload FROM t")) {
      all.insert(row[0].value());
    }
    return all;
  }
  [[nodiscard]] std::set<std::string> delivered() const {
    std::set<std::string> all;
    for (const auto& request : receiver_.requests()) all.insert(request.body);
    return all;
  }

  TemporaryFolder folder_;
  EmbeddedServer server_;
  HttpService receiver_;
  std::unique_ptr<RelayProgram> relay_;
  std::atomic<bool> open_ = true;
  int round_ = 0;
};

}  // namespace

TEST_SUITE("durability") {
  TEST_CASE(
      "no row is delivered that a crash of the server undoes, synchronous_commit off or not") {
    CrashingServer stage({});
    for (int round = 1; round <= 3; ++round) {
      stage.crash_in_a_call();
      CHECK(stage.phantoms().empty());
    }
    wait_until("all that is there is delivered", [&] { return stage.pending().empty(); });
  }

  TEST_CASE("without the durability commit a row is delivered that the crash undoes") {
    CrashingServer stage(RelayProgram::Hooks{{"SERIATIM_MUTANT", "no_durability"}});
    // Now and then the server flushes in time, for reasons of its own.
    for (int round = 1; round <= 5 && stage.phantoms().empty(); ++round) stage.crash_in_a_call();
    CHECK_FALSE(stage.phantoms().empty());
  }
}

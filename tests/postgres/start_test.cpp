// Whether the start of a batch waits for the disk: only where a row of it may still be lost, or
// what it writes itself must not be.
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>

#include "embedded/embedded_server.hpp"
#include "postgres/admin/migrate.hpp"
#include "postgres/desk.hpp"
#include "postgres/standby_asked.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using embedded::EmbeddedServer;

namespace {

/// A session on a table of a server that flushes nothing of its own accord, or seldom.
struct Beginner {
  Desk desk{OrderBy::id};
  TestLane lane;

  explicit Beginner(Guard guard = Guard::fence) : lane(as(guard)) { REQUIRE(lane.claim()); }

  TestLane as(Guard guard) {
    desk.target.source.guard = guard;
    return desk.relay();
  }
  std::string written() { return desk.database.value("SELECT pg_current_wal_insert_lsn()"); }
  bool flushed_behind(const std::string& place) {
    return desk.database.value("SELECT pg_current_wal_flush_lsn() > '" + place + "'") == "t";
  }
  /// A batch of one row begins; whether anything of that was flushed.
  bool start_waits(const std::function<void()>& once_read = [] {}) {
    REQUIRE(lane.poll(1).records.size() == 1);
    once_read();
    const auto before = written();
    REQUIRE(lane.start());
    return flushed_behind(before);
  }
  /// So often that not all were flushed for a reason of the server's own (the WAL writer is woken
  /// where a page of it is full; a page of the catalogue that is read for the first time is
  /// pruned).
  bool every_start_waits(
      const std::function<void()>& before_each, const std::function<void()>& once_read = [] {}) {
    for (int n = 1; n <= 5; ++n) {
      before_each();
      if (!start_waits(once_read)) return false;
    }
    return true;
  }
  void park_next() {
    const auto row = lane.poll(1).records.at(0).position;
    REQUIRE(lane.start());
    REQUIRE(lane.settle(
        {lane.cursor.position, {}, {}, Park{row, std::nullopt, false, false, 1, "no"}}));
    lane.cursor = lane.session->read_cursor();
  }
};

struct OwnServer {
  std::filesystem::path folder = shared_server().log_file().parent_path().parent_path() / "crashes";
  EmbeddedServer server{{folder,
                         {"fsync=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB",
                          "bgwriter_lru_maxpages=0", "autovacuum=off"},
                         {}}};
  ~OwnServer() {
    server.stop(EmbeddedServer::Stop::fast);
    std::filesystem::remove_all(folder);
  }
};

/// What a receiver is sent of the next row, once its attempt is counted.
struct Recorded {
  std::string id;
  std::uint64_t sequence;
  unsigned attempts_before;
};

Recorded begin_next(TestLane& lane) {
  const auto round = lane.poll(1);
  REQUIRE(round.records.size() == 1);
  REQUIRE(lane.start());
  return {round.records[0].id(), lane.cursor.sequence + 1, lane.cursor.attempts};
}

}  // namespace

TEST_SUITE("start") {
  TEST_CASE("a start of rows that are durable is counted, and does not wait") {
    Beginner beginner;
    REQUIRE_FALSE(beginner.every_start_waits([&] { beginner.desk.insert(1); }));
    CHECK(beginner.desk.cursor("attempts >= 1, handed_to, sequence") == "t|1|0");
  }

  TEST_CASE("a start waits for rows whose producer did not wait for their commits") {
    Beginner beginner;
    auto producer = beginner.desk.database.connect("producer");
    producer.run("SET synchronous_commit = off");
    CHECK(beginner.every_start_waits(
        [&] { producer.run("INSERT INTO bookings (payload) VALUES ('{}')"); }));
  }

  TEST_CASE("a start does not wait for what others wrote since its rows were read") {
    Beginner beginner;
    beginner.desk.database.run("CREATE TABLE noise (n int)");
    auto other = beginner.desk.database.connect("other");
    other.run("SET synchronous_commit = off");
    const auto lane_rests = [&] {
      beginner.lane.session->wait_until({});
    };  // nothing of it is open
    CHECK_FALSE(beginner.every_start_waits(
        [&] {
          lane_rests();
          beginner.desk.insert(1);
        },
        [&] { other.run("INSERT INTO noise VALUES (1)"); }));
  }

  TEST_CASE("while a standby has to confirm commits, a start waits for it") {
    Beginner beginner;
    REQUIRE(beginner.lane.poll(1).records.size() == 1);
    auto& database = beginner.desk.database;
    StandbyAsked asked(database);
    auto started = std::async(std::launch::async, [&] { return beginner.lane.start(); });
    const bool waits = asked.waits_in("seriatim/process/0");
    asked.let_go();
    CHECK(waits);
    CHECK(started.get());
  }

  TEST_CASE("where rows are parked, a start waits: what was handed over must not be forgotten") {
    Beginner beginner;
    beginner.park_next();
    CHECK(beginner.every_start_waits([&] { beginner.desk.insert(1); }));
  }

  TEST_CASE("on a server that is no PostgreSQL a start waits, whatever it says is flushed") {
    Beginner beginner(Guard::latency);
    CHECK(beginner.every_start_waits([&] { beginner.desk.insert(1); }));
  }

  TEST_CASE("a start undone by a crash of the server begins the same row under the same number") {
    OwnServer own;
    const auto url = own.server.url();
    postgres::migrate(url);
    SqlSession(url).run(std::string(bookings) + "INSERT INTO bookings (payload) VALUES ('{}')");
    bool undone = false;
    for (int n = 1; n <= 5 && !undone; ++n) {
      TestLane lane(url, table("bookings", OrderBy::id), "relay " + std::to_string(n));
      REQUIRE(lane.claim());
      const auto crashes = lane.cursor.crashes;
      const auto first = begin_next(lane);
      own.server.stop(EmbeddedServer::Stop::immediate);
      own.server.start();
      lane.session.reset();
      lane.open();
      REQUIRE(lane.claim());
      CHECK(lane.cursor.crashes == crashes);
      undone = lane.cursor.attempts == first.attempts_before;
      const auto again = begin_next(lane);
      CHECK(again.id == first.id);
      CHECK(again.sequence == first.sequence);
      lane.session->release(lane.cursor.epoch, false);
    }
    CHECK(undone);
  }
}

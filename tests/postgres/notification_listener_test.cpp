// What ends a lane's sleep, and what does not.
#include "postgres/reader/notification_listener.hpp"

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <thread>

#include "postgres/lane_fixture.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

struct Sleeper {
  explicit Sleeper(const SourceConfig& source = {}) : lane(database, source) { lane.claim(); }

  bool sleep(milliseconds at_most) { return lane.session->wait_until(Clock::now() + at_most); }

  TestDatabase database;
  TestLane lane;
};

constexpr milliseconds long_enough{20'000};
constexpr milliseconds in_vain{100};

}  // namespace

TEST_CASE("an insert into the table wakes the lane") {
  Sleeper sleeper;
  CHECK(sleeper.lane.session->hints());
  CHECK_FALSE(sleeper.sleep(milliseconds{0}));
  std::thread producer(
      [&] { sleeper.database.run("SELECT seriatim.append('b', '1', 'booked', '{}')"); });
  const auto began = Clock::now();
  CHECK(sleeper.sleep(long_enough));
  CHECK(Clock::now() - began < long_enough);
  producer.join();
}

TEST_CASE("a hint that came while the lane was busy is not lost") {
  Sleeper sleeper;
  sleeper.database.run("SELECT seriatim.append('b', '1', 'booked', '{}')");
  sleeper.lane.poll();
  CHECK(sleeper.sleep(long_enough));
  CHECK_FALSE(sleeper.sleep(milliseconds{0}));
}

TEST_CASE("hints that come to a lane without rest take no memory") {
  Sleeper sleeper;
  const auto before = ::mallinfo2().uordblks;
  constexpr int bursts = 20;
  constexpr int hints = 2'000;  // distinct, as those of as many transactions would be kept
  for (int burst = 0; burst < bursts; ++burst) {
    sleeper.database.run("SELECT pg_notify('seriatim', i::text) FROM generate_series(1, " +
                         std::to_string(hints) + ") AS i");
    sleeper.lane.poll();
    sleeper.lane.poll();
  }
  const auto grown = ::mallinfo2().uordblks - std::min(before, ::mallinfo2().uordblks);
  CHECK(grown < std::size_t{bursts} * hints * 8);  // a hint kept has some fifty bytes
}

TEST_CASE("an insert into another table does not wake the lane") {
  Sleeper sleeper;
  sleeper.database.run(
      "CREATE TABLE other (n int); CREATE TRIGGER hint AFTER INSERT ON other FOR EACH STATEMENT "
      "EXECUTE FUNCTION seriatim.hint(); INSERT INTO other VALUES (1)");
  CHECK_FALSE(sleeper.sleep(in_vain));
}

TEST_CASE("an operator's act wakes the process it is about, and no other") {
  Sleeper sleeper;
  sleeper.database.run("SELECT pg_notify('seriatim_control', 'another')");
  CHECK_FALSE(sleeper.sleep(in_vain));
  sleeper.database.run("SELECT pg_notify('seriatim_control', 'process')");
  CHECK(sleeper.sleep(long_enough));
}

TEST_CASE("the waker wakes from another thread") {
  Sleeper sleeper;
  std::thread other([&] { sleeper.lane.waker.wake(); });
  CHECK(sleeper.sleep(long_enough));
  other.join();
}

TEST_CASE("a table without the trigger gives no hints, with it it does") {
  TestDatabase database;
  database.run(
      "CREATE TABLE t (id int PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT "
      "clock_timestamp())");
  SourceConfig source;
  source.table = "t";
  TestLane lane(database, source);
  CHECK_FALSE(lane.session->hints());
  database.run(
      "CREATE TRIGGER hint AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION "
      "seriatim.hint()");
  lane.open();
  CHECK(lane.session->hints());
  database.run("ALTER TABLE t DISABLE TRIGGER hint");
  lane.open();
  CHECK_FALSE(lane.session->hints());
}

TEST_CASE("listen = false asks for no hints") {
  SourceConfig source;
  source.listen = false;
  Sleeper sleeper(source);
  CHECK_FALSE(sleeper.lane.session->hints());
  sleeper.database.run("SELECT seriatim.append('b', '1', 'booked', '{}')");
  CHECK_FALSE(sleeper.sleep(in_vain));
}

TEST_CASE("a backend ended while the lane sleeps is a lost session") {
  Sleeper sleeper;
  std::thread operator_act([&] {
    sleeper.database.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
        "application_name = 'seriatim/process/0' AND datname = current_database()");
  });
  CHECK_THROWS_AS(sleeper.sleep(long_enough), SessionLost);
  operator_act.join();
}

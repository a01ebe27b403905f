// What protects a lane during a call: its row says that a call is in flight, a lease covers it, and
// no transaction is open.
#include <doctest/doctest.h>

#include <future>

#include "postgres/desk.hpp"
#include "postgres/standby_asked.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// A holder that calls its handler with row 1, and another relay that would like the lane.
struct Called : Desk {
  TestLane holder = relay("holder");
  TestLane other = relay("other");
  Record row;

  Called() {
    other.config.lease = 50ms;
    other.open();
    REQUIRE(holder.claim());
    row = holder.poll(1).records.at(0);
    REQUIRE(holder.start());
  }
  /// As the holder's lease is if the server's clock goes forward by a minute.
  void set_forward() {
    database.run("UPDATE seriatim.cursor SET lease_until = clock_timestamp() - interval '1 min'");
  }
  void shorten_lease() { database.run("UPDATE seriatim.cursor SET lease_ms = 500"); }
  bool is_refused_for(milliseconds time) {
    for (const auto began = Clock::now(); Clock::now() < began + time;) {
      if (other.claim()) return false;
    }
    return true;
  }
  Grant settle() {
    return holder.session->settle(holder.cursor.epoch, {std::nullopt, {row.position}, {}, Rest{}})
        .grant;
  }
};

}  // namespace

TEST_CASE("during a call no backend of the relay has a transaction open") {
  Desk desk;
  unsigned commit_every = 1;
  SUBCASE("a commit a row") {}
  SUBCASE("several rows a commit, read ahead") {
    commit_every = 2;
    desk.target.process.batch_rows = 2;
    desk.target.process.read_ahead = true;
  }
  desk.target.process.commit_every = commit_every;
  DeliveryLog log;
  std::atomic<int> seen = 0;
  InProcessRelay relay(
      postgres_source(desk.database.url(), desk.target.source), desk.target.process,
      handler_from([&](const Record& record) {
        const bool none_open = desk.database.becomes_true(
            "SELECT count(*) FILTER (WHERE xact_start IS NOT NULL) = 0 AND count(*) > 0 FROM "
            "pg_stat_activity WHERE application_name LIKE 'seriatim/process/%' AND datname = "
            "current_database()");
        const bool announced =
            desk.database.value("SELECT call_epoch = epoch FROM seriatim.cursor") == "t";
        if (none_open && announced) seen += 1;
        log.add(record);
        return Outcome::done();
      }));
  CHECK(log.wait_for_rows(3));
  relay.stop();
  CHECK(seen == 3);
}

TEST_CASE("the server's clock is set forward during a call: the lane stays its holder's") {
  Called lane;
  lane.set_forward();
  SUBCASE("for other relays") {
    lane.shorten_lease();  // so that a short time says much
    CHECK(lane.is_refused_for(250ms));
    CHECK(lane.settle() == Grant::ours);
  }
  SUBCASE("for acts") {
    CHECK_THROWS_WITH_AS(lane.admin.pause(lane.target, alice),
                         doctest::Contains("the call of lane 0 by"), Error);
    CHECK(lane.settle() == Grant::ours);
    CHECK(lane.admin.pause(lane.target, alice).at(0) == "lane 0: paused after row 1");
  }
}

TEST_CASE("a holder that was silent past the lease of its call is replaced, for acts too") {
  Called lane;
  lane.set_forward();
  lane.shorten_lease();
  SUBCASE("by another relay") {
    CHECK(lane.is_refused_for(250ms));
    wait_until("its lease was seen unchanged for so long", [&] { return lane.other.claim(); });
    CHECK(lane.other.cursor.epoch == 2);
    CHECK(lane.other.cursor.crashes == 1);
  }
  SUBCASE("by an act") {
    lane.target.process.handler_deadline = 20s;
    CHECK(lane.admin.rewind(lane.target, {postgres::RewindPlace::Kind::end, {}}, alice).size() ==
          1);
  }
  CHECK(lane.settle() == Grant::lost);
}

TEST_CASE("a settlement that waits for a standby keeps its lane, however long that takes") {
  Called lane;
  StandbyAsked asked(lane.database);
  auto settling = std::async(std::launch::async, [&] { return lane.settle(); });
  REQUIRE(asked.waits_in("seriatim/process/0"));
  CHECK(lane.is_refused_for(1s));
  asked.let_go();
  CHECK(settling.get() == Grant::ours);
  CHECK(lane.cursor("sequence") == "1");
}

// Who holds a lane, and that nobody else can move its cursor.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "postgres/lane_fixture.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

struct Outbox : TestDatabase {
  void append(int rows = 1) {
    run("SELECT seriatim.append('booking', i::text, 'booked', '{}') FROM generate_series(1, " +
        std::to_string(rows) + ") AS i");
  }
  std::string backend_of(const std::string& process, unsigned lane = 0) {
    return value("SELECT pid FROM pg_stat_activity WHERE application_name = 'seriatim/" + process +
                 "/" + std::to_string(lane) + "' AND datname = current_database()");
  }
};

}  // namespace

TEST_CASE("the first claim creates the cursor row and raises the epoch") {
  Outbox database;
  TestLane lane(database, {});
  CHECK(lane.claim());
  CHECK(lane.cursor.epoch == 1);
  CHECK_FALSE(lane.cursor.position.has_value());
  CHECK(database.value(
            "SELECT string_agg(act || ' ' || who, ', ' ORDER BY id) FROM seriatim.journal") ==
        "begin relay, claim relay");
}

TEST_CASE("a cursor made anew by somebody else is refused by a read too, at the same epoch") {
  Outbox database;
  TestLane first(database, {}, "first");
  REQUIRE(first.claim());
  database.run("DELETE FROM seriatim.cursor; DELETE FROM seriatim.journal");
  TestLane second(database, {}, "second");
  REQUIRE(second.claim());
  REQUIRE(second.session->read_cursor().epoch == first.cursor.epoch);
  CHECK_THROWS_WITH_AS(first.session->read_cursor(), doctest::Contains("was made anew"),
                       SourceBroken);
}

TEST_CASE("a former holder writes nothing to a cursor that was made anew") {
  Outbox database;
  database.append();
  TestLane first(database, {}, "first");
  REQUIRE(first.claim());
  database.run("DELETE FROM seriatim.cursor; DELETE FROM seriatim.journal");
  TestLane second(database, {}, "second");
  REQUIRE(second.claim());
  REQUIRE(second.cursor.epoch == first.cursor.epoch);
  const auto as_it_was = database.value("SELECT c::text FROM seriatim.cursor AS c");
  const auto refused = [](auto&& act) {
    try {
      return !act();
    } catch (const SourceBroken& broken) {
      return broken.reason() == HaltReason::source_changed;
    }
  };
  CHECK(refused([&] { return first.start(); }));
  CHECK(refused([&] {
    return first.settle({first.cursor.position, {}, {}, Retry{{"1", "busy"}, milliseconds{5}}});
  }));
  CHECK(refused([&] {
    return first.settle({first.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "bad"}}});
  }));
  CHECK(database.value("SELECT c::text FROM seriatim.cursor AS c") == as_it_was);
  CHECK(second.start());
}

TEST_CASE("the row of one lane that was inserted by hand is refused by its former holder") {
  Outbox database;
  TestLane lane(database, {}, "relay", {"process", 1, 2});
  REQUIRE(lane.claim());
  database.run(
      "DELETE FROM seriatim.cursor WHERE lane = 1;"
      "INSERT INTO seriatim.cursor (process_name, lane, lanes) VALUES ('process', 1, 2)");
  CHECK_THROWS_WITH_AS(lane.claim(), doctest::Contains("was made anew"), SourceBroken);
  CHECK_THROWS_WITH_AS(lane.session->read_cursor(), doctest::Contains("was made anew"),
                       SourceBroken);
}

TEST_CASE("a claim by the holder renews the lease and keeps the epoch") {
  Outbox database;
  TestLane lane(database, {});
  lane.claim();
  const auto before = database.value("SELECT lease_until FROM seriatim.cursor");
  CHECK(lane.claim());
  CHECK(lane.cursor.epoch == 1);
  CHECK(database.value("SELECT lease_until > '" + before + "' FROM seriatim.cursor") == "t");
  CHECK(database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'claim'") == "1");
}

TEST_CASE("a second relay is refused and learns who holds the lane") {
  Outbox database;
  TestLane first(database, {}, "first");
  TestLane second(database, {}, "second");
  CHECK(first.claim());
  const auto answer = second.session->claim();
  CHECK_FALSE(answer.granted);
  CHECK(answer.holder == "first");
  CHECK(answer.cursor.epoch == 1);
}

TEST_CASE("a standby that checks again and again never holds up the holder") {
  Outbox database;
  TestLane holder(database, {}, "holder");
  TestLane standby(database, {}, "standby");
  REQUIRE(holder.claim());
  std::jthread checking([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) standby.claim();
  });
  database.append(300);
  for (int delivered = 0; delivered < 300;) {
    const auto rows = holder.deliver(1).size();
    REQUIRE(rows == 1);
    delivered += static_cast<int>(rows);
  }
  CHECK(holder.claim());
}

TEST_CASE("every write of the holder renews its lease") {
  Outbox database;
  database.append();
  TestLane lane(database, {});
  lane.claim();
  const auto renewed_by = [&](const char* what, auto&& write) {
    CAPTURE(what);
    database.run("UPDATE seriatim.cursor SET lease_until = clock_timestamp()");
    write();
    CHECK(database.value(
              "SELECT lease_until > clock_timestamp() + interval '5s' FROM seriatim.cursor") ==
          "t");
  };
  renewed_by("start", [&] { CHECK(lane.start()); });
  renewed_by("note_retry", [&] {
    CHECK(lane.settle({lane.cursor.position, {}, {}, Retry{{"1", "busy"}, milliseconds{1}}}));
  });
  renewed_by("advance", [&] { CHECK(lane.deliver(1).size() == 1); });
}

TEST_CASE("a holder whose backend is gone is replaced at once, long before its lease ends") {
  Outbox database;
  TestLane first(database, {}, "first");
  TestLane second(database, {}, "second");
  first.claim();
  CHECK_FALSE(second.claim());
  first.session.reset();
  REQUIRE(
      database.becomes_true("SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = "
                            "'seriatim/process/0' AND datname = current_database()"));
  CHECK(second.claim());
  CHECK(second.cursor.epoch == 2);
}

TEST_CASE("a lease that has passed by the server's clock alone is no lease") {
  using namespace std::chrono_literals;
  Outbox database;
  TestLane holder(database, {}, "holder");
  REQUIRE(holder.claim());
  TestLane other(database, {}, "other");
  other.config.lease = 1s;
  other.open();
  const auto set_forward = [&] {  // as the holder's lease is when the clock was
    database.run("UPDATE seriatim.cursor SET lease_until = clock_timestamp() - interval '1 min'");
  };
  set_forward();
  CHECK_FALSE(other.claim());
  const auto seen = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < seen + 500ms) REQUIRE_FALSE(other.claim());
  REQUIRE(holder.claim());  // it lives
  set_forward();
  const auto renewed = std::chrono::steady_clock::now();
  wait_until("the holder is silent for the lease's length", [&] { return other.claim(); });
  CHECK(std::chrono::steady_clock::now() > renewed + 1s);
  CHECK(other.cursor.epoch == 2);
  CHECK_FALSE(holder.claim());
}

TEST_CASE("a free lane whose row somebody has locked for longer than a lease is claimed then") {
  using namespace std::chrono_literals;
  Outbox database;
  TestLane first(database, {}, "first");
  REQUIRE(first.claim());
  first.session->release(1, false);
  auto somebody = database.connect("somebody");
  somebody.run("BEGIN; SELECT FROM seriatim.cursor FOR UPDATE");
  TestLane second(database, {}, "second");
  second.config.lease = 50ms;
  second.open();
  const auto began = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < began + 200ms) REQUIRE_FALSE(second.claim());
  somebody.run("COMMIT");
  CHECK(second.claim());
}

TEST_CASE("a holder that was replaced can change nothing") {
  Outbox database;
  database.append(2);
  TestLane first(database, {}, "first");
  TestLane second(database, {}, "second");
  first.claim();
  const auto round = first.poll();
  REQUIRE(round.records.size() == 2);
  REQUIRE(first.start());
  database.run(
      "UPDATE seriatim.cursor SET lease_ms = 50, lease_until = clock_timestamp() - interval '1 s'");
  second.claim_in_the_end();

  CHECK_FALSE(first.start());
  CHECK_FALSE(first.settle({std::nullopt, {round.records[0].position}, {}, Rest{}}));
  CHECK_FALSE(
      first.settle({first.cursor.position, {}, {}, Retry{{"1", "later"}, milliseconds{5}}}));
  CHECK_FALSE(
      first.settle({first.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "never"}}}));
  first.session->release(1, false);
  CHECK_FALSE(first.claim());
  CHECK(database.value("SELECT concat(holder, sequence, state, failed_id) FROM seriatim.cursor") ==
        "second0retrying");
}

TEST_CASE("a settlement is refused when the epoch has changed") {
  Outbox database;
  database.append();
  TestLane lane(database, {});
  lane.claim();
  const auto round = lane.poll();
  CHECK(lane.session->settle(7, {std::nullopt, {round.records[0].position}, {}, Rest{}}).grant ==
        Grant::lost);
  CHECK_FALSE(lane.session->read_cursor().position.has_value());
}

TEST_CASE("a settlement is refused from a position that is not the cursor's") {
  Outbox database;
  database.append(2);
  TestLane lane(database, {});
  lane.claim();
  const auto round = lane.poll();
  CHECK_FALSE(lane.settle({round.records[0].position, {round.records[1].position}, {}, Rest{}}));
  CHECK_FALSE(lane.session->read_cursor().position.has_value());
}

TEST_CASE("a released lane is free at once, without a crash counted") {
  Outbox database;
  database.append();
  TestLane first(database, {}, "first");
  TestLane second(database, {}, "second");
  first.claim();
  REQUIRE(first.start());
  first.session->release(1, true);
  CHECK(second.claim());
  CHECK(second.cursor.epoch == 2);
  CHECK(second.cursor.attempts == 0);
  CHECK(second.cursor.crashes == 0);
  CHECK(database.value("SELECT string_agg(act || ' ' || who, ', ' ORDER BY id) FROM "
                       "seriatim.journal") ==
        "begin first, claim first, release first, claim second");
}

TEST_CASE("a holder that ended during an attempt counts as a crash of the row") {
  Outbox database;
  database.append();
  TestLane first(database, {}, "first");
  first.claim();
  REQUIRE(first.start());
  first.session.reset();
  TestLane second(database, {}, "second");
  database.run("UPDATE seriatim.cursor SET lease_until = clock_timestamp()");
  second.claim_in_the_end();
  CHECK(second.cursor.crashes == 1);
  CHECK(second.cursor.attempts == 1);
  CHECK(database.value(
            "SELECT why || ' ' || (detail ->> 'crashed') FROM seriatim.journal ORDER BY id "
            "DESC LIMIT 1") == "took over from first true");
}

TEST_CASE("an advance clears the crashes and counts the next row as attempted when asked") {
  Outbox database;
  database.append(2);
  database.run(
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, crashes, attempts) VALUES "
      "('process', 0, 1, 2, 2)");
  TestLane lane(database, {});
  lane.claim();
  const auto round = lane.poll();
  REQUIRE(lane.settle({std::nullopt, {round.records[0].position}, {}, Next{}}));
  const auto cursor = lane.session->read_cursor();
  CHECK(cursor.crashes == 0);
  CHECK(cursor.attempts == 1);
  CHECK(cursor.sequence == 1);
  CHECK(cursor.position == round.records[0].position);
}

TEST_CASE("a process cut into another number of lanes is refused") {
  Outbox database;
  TestLane one(database, {});
  one.claim();
  TestLane two(database, {}, "relay", {"process", 1, 2});
  try {
    two.claim();
    FAIL("it was granted");
  } catch (const SourceBroken& broken) {
    CHECK(broken.reason() == HaltReason::config_changed);
    CHECK(std::string(broken.what()).find("was cut into 1 lanes") != std::string::npos);
  }
}

TEST_CASE("a retry is noted with its delay by the server's clock") {
  Outbox database;
  database.append();
  TestLane lane(database, {});
  lane.claim();
  REQUIRE(lane.start());
  CHECK(
      lane.settle({lane.cursor.position, {}, {}, Retry{{"1", "HTTP 503"}, milliseconds{60'000}}}));
  const auto cursor = lane.session->read_cursor();
  CHECK(cursor.state == Cursor::State::retrying);
  CHECK(cursor.attempts == 1);
  CHECK(cursor.row_id == "1");
  CHECK(cursor.detail == "HTTP 503");
  CHECK(cursor.retry_in > milliseconds{50'000});
  CHECK(cursor.retry_in <= milliseconds{60'000});
}

TEST_CASE("a halt is kept with reason and row, and journalled") {
  Outbox database;
  database.append();
  TestLane lane(database, {});
  lane.claim();
  CHECK(lane.settle({lane.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "HTTP 422"}}}));
  const auto cursor = lane.session->read_cursor();
  CHECK(cursor.state == Cursor::State::halted);
  CHECK(cursor.reason == HaltReason::poison);
  CHECK(cursor.row_id == "1");
  CHECK_FALSE(lane.start());
  CHECK(database.value("SELECT row_id || ' ' || why FROM seriatim.journal WHERE act = 'halt'") ==
        "1 POISON: HTTP 422");
}

TEST_CASE("what a receiver said is cut at a character and made storable") {
  Outbox database;
  TestLane lane(database, {});
  lane.claim();
  const std::string nasty = std::string("a\0b\xff", 4) + std::string(498, 'x') + "\xc3\xa9";
  CHECK(lane.settle({lane.cursor.position, {}, {}, Halt{HaltReason::poison, {"", nasty}}}));
  CHECK(lane.session->read_cursor().detail == "ab?" + std::string(497, 'x'));
  CHECK_FALSE(lane.session->read_cursor().row_id.has_value());
}

TEST_CASE("a paused lane keeps its pause whatever the holder wants to note") {
  Outbox database;
  TestLane lane(database, {});
  lane.claim();
  database.run("UPDATE seriatim.cursor SET state = 'paused'");
  CHECK_FALSE(lane.start());
  CHECK_FALSE(lane.settle({lane.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "x"}}}));
  CHECK(lane.session->read_cursor().state == Cursor::State::paused);
}

TEST_CASE("a backend ended while it commits is a lost session, and a read shows the truth") {
  Outbox database;
  database.append();
  // The commit itself waits here, so that the backend can be ended in the middle of it.
  database.run(
      "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER linger AFTER UPDATE OF position_id ON seriatim.cursor "
      "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION linger()");
  auto gate = database.connect();
  gate.run("SELECT pg_advisory_lock(42)");
  TestLane lane(database, {});
  lane.claim();
  const auto round = lane.poll();
  bool lost = false;
  std::thread committing([&] {
    try {
      lane.settle({std::nullopt, {round.records[0].position}, {}, Rest{}});
    } catch (const SessionLost&) {
      lost = true;
    }
  });
  const bool waits = database.becomes_true(
      "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'");
  database.run("SELECT pg_terminate_backend(" + database.backend_of("process") + ")");
  committing.join();
  CHECK(waits);
  CHECK(lost);
  lane.open();
  CHECK_FALSE(lane.session->read_cursor().position.has_value());
  CHECK(lane.claim());
}

TEST_CASE("a started attempt makes earlier asynchronous commits durable") {
  Outbox database;
  auto producer = database.connect("producer");
  // Our own role's default must not undo it either.
  producer.run("ALTER DATABASE " + database.name() + " SET synchronous_commit = off");
  producer.run("SET synchronous_commit = off");
  TestLane lane(database, {});
  lane.claim();
  producer.run("SELECT seriatim.append('b', '1', 'booked', '{}')");
  const auto committed = database.value("SELECT pg_current_wal_insert_lsn()");
  const auto durable = "SELECT pg_current_wal_flush_lsn() >= '" + committed + "'";
  REQUIRE(lane.poll().records.size() == 1);
  REQUIRE(database.value(durable) == "f");
  REQUIRE(lane.start());
  CHECK(database.value(durable) == "t");
}

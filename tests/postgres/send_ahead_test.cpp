// A move that is sent before its call is made: committed when all was delivered, taken back else.
#include <doctest/doctest.h>

#include "postgres/lane_fixture.hpp"
#include "postgres/wire/connection.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::Connection;

namespace {

TestDatabase& with_rows(TestDatabase& database) {
  database.run("CREATE TABLE bookings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " +
               stamped + "); INSERT INTO bookings SELECT FROM generate_series(1, 6)");
  return database;
}

const std::string update = "UPDATE seriatim.cursor AS c";

/// Rows 1 to 6 of a table; a lane that is about to be called with the first of them.
struct Desk {
  explicit Desk(unsigned commit_every = 3) {
    lane.config.commit_every = commit_every;
    lane.config.read_ahead = false;
    lane.open();
    if (!lane.claim()) throw Error("the lane could not be claimed");
    round = lane.poll();
    if (!lane.session->start(1) || !lane.session->lock(1, std::nullopt)) throw Error("refused");
  }

  /// Over `rows` after `from` others.
  [[nodiscard]] Settlement over(std::size_t rows, std::size_t from = 0) const {
    Settlement move;
    if (from > 0) move.from = round.records[from - 1].position;
    for (std::size_t i = from; i < from + rows; ++i) move.done.push_back(round.records[i].position);
    if (from + rows < round.records.size()) move.fate = Next{};
    return move;
  }
  bool send(const Settlement& move) { return lane.session->send_ahead(1, move); }
  /// The move over the first three rows, once the server is done with it.
  bool send_and_see_it_run() { return send(over(3)) && has_run(update); }
  bool commit(Settlement move, bool goes_on = false) {
    move.sent = true;
    move.goes_on = goes_on;
    return lane.session->settle(1, move);
  }
  std::string cursor(const std::string& columns = "position_id, sequence, attempts") {
    return database.value("SELECT concat_ws('|', " + columns + ") FROM seriatim.cursor");
  }
  bool is_locked() {
    return database.value(
               "SELECT count(*) FROM (SELECT FROM seriatim.cursor "
               "FOR UPDATE SKIP LOCKED) c") == "0";
  }
  /// What the lane's backend did last, once it waits for its client with the transaction open.
  bool has_run(const std::string& statement) {
    return database.becomes_true(
        "SELECT state = 'idle in transaction' AND query LIKE '%" + statement +
        "%' FROM pg_stat_activity WHERE application_name = 'seriatim/process/0' AND "
        "datname = current_database()");
  }
  /// The ids the ledger and the open bucket hold, in order.
  std::string noted() {
    return database.value(
        "SELECT string_agg(id, ' ' ORDER BY id::int) FROM (SELECT seriatim.ledger_ids(bucket_ids, "
        "bucket_ranges) AS id FROM "
        "seriatim.cursor UNION ALL SELECT seriatim.ledger_ids(ids, ranges) FROM seriatim.ledger) "
        "n");
  }

  TestDatabase database;
  TestLane lane{with_rows(database), table("bookings", OrderBy::id)};
  Round round;
};

}  // namespace

TEST_SUITE("a move sent ahead of its call") {
  TEST_CASE("is run while the call lasts, seen by nobody, and committed by the advance") {
    for (const bool goes_on : {false, true}) {
      CAPTURE(goes_on);
      Desk desk;
      REQUIRE(desk.send_and_see_it_run());
      CHECK(desk.cursor() == "0|1");  // no position yet
      CHECK(desk.is_locked());
      REQUIRE(desk.commit(desk.over(3), goes_on));
      CHECK(desk.cursor() == "3|3|1");
      CHECK(desk.noted() == "1 2 3");
      CHECK(desk.is_locked() == goes_on);
      CHECK(desk.lane.session->lock(1, desk.round.records[2].position));
      CHECK(desk.is_locked());
    }
  }

  TEST_CASE("of the next call it goes out with the commit before, and the lock") {
    Desk desk;
    auto first = desk.over(3);
    const auto second = desk.over(3, 3);
    first.next = &second;
    REQUIRE(desk.send(first));
    REQUIRE(desk.commit(first, true));
    CHECK(desk.has_run(update));  // after the lock, and nobody asked for it
    CHECK(desk.cursor() == "3|3|1");
    REQUIRE(desk.lane.session->lock(1, first.done.back()));
    CHECK(desk.send(second));
    CHECK_FALSE(desk.send(desk.over(2, 3)));  // another than what was sent
    REQUIRE(desk.commit(second));
    CHECK(desk.cursor() == "6|6|0");
    CHECK(desk.noted() == "1 2 3 4 5 6");
  }

  TEST_CASE("with a move that waits for its answer it goes out too") {
    Desk desk(1);
    auto first = desk.over(1);
    const auto second = desk.over(1, 1);
    first.goes_on = true;
    first.next = &second;
    REQUIRE(desk.lane.session->settle(1, first));
    CHECK(desk.has_run(update));
    REQUIRE(desk.lane.session->lock(1, first.done.back()));
    REQUIRE(desk.send(second));
    REQUIRE(desk.commit(second));
    CHECK(desk.cursor("position_id, sequence") == "2|2");
  }

  TEST_CASE("is taken back where less was delivered, and what was is committed") {
    for (const bool goes_on : {false, true}) {
      CAPTURE(goes_on);
      Desk desk;
      REQUIRE(desk.send_and_see_it_run());
      auto part = desk.over(2);
      part.goes_on = goes_on;
      REQUIRE(desk.lane.session->settle(1, part));
      CHECK(desk.cursor() == "2|2|1");
      CHECK(desk.noted() == "1 2");
      CHECK(desk.lane.session->lock(1, part.done.back()));
      REQUIRE(desk.lane.session->settle(1, desk.over(4, 2)));
      CHECK(desk.cursor() == "6|6|0");
      CHECK(desk.noted() == "1 2 3 4 5 6");
    }
  }

  TEST_CASE("leaves nothing behind where the call failed, whatever is done then") {
    const std::vector<std::pair<std::string, std::function<void(LaneSession&)>>> acts{
        {"running", [](LaneSession& session) { (void)session.look(); }},
        {"running", [](LaneSession& session) { CHECK(session.claim().granted); }},
        {"running", [](LaneSession& session) { session.release(1, false); }},
        {"running", [](LaneSession& session) { (void)session.poll(std::nullopt, 9); }},
        {"running", [](LaneSession& session) { CHECK(session.start(1, true)); }},
        {"running",
         [](LaneSession& session) { session.wait_until(std::chrono::steady_clock::now()); }},
        {"retrying",
         [](LaneSession& s) {
           CHECK(s.settle(1, {std::nullopt, {}, {}, Retry{{"1", "503"}, milliseconds{50}}}));
         }},
        {"halted", [](LaneSession& s) {
           CHECK(s.settle(1, {std::nullopt, {}, {}, Halt{HaltReason::poison, {"1", "400"}}}));
         }}};
    for (std::size_t act = 0; act < acts.size(); ++act) {
      CAPTURE(act);
      Desk desk;
      REQUIRE(desk.send(desk.over(3)));
      acts[act].second(*desk.lane.session);
      CHECK(desk.cursor("state, sequence") == acts[act].first + "|0");
      CHECK(desk.noted().empty());
      CHECK(desk.cursor("position_id").empty());
    }
  }

  TEST_CASE("and a row that failed for good is parked as without it") {
    Desk desk;
    REQUIRE(desk.send(desk.over(3)));
    const Park park{desk.round.records[0].position, "k", false, true, 1, "400"};
    REQUIRE(desk.lane.session->settle(1, {std::nullopt, {}, {}, park}));
    CHECK(desk.cursor("position_id, sequence, set_aside") == "1|1|1");
    CHECK(desk.noted() == "1");
  }

  TEST_CASE("goes with its session, wherever that ends") {
    Desk desk;
    REQUIRE(desk.send(desk.over(3)));
    desk.lane.session.reset();
    CHECK(desk.cursor("sequence") == "0");
    CHECK_FALSE(desk.is_locked());
    desk.lane.open();
    REQUIRE(desk.lane.claim());
    CHECK(desk.lane.deliver(6).size() == 6);
  }

  TEST_CASE("a session that was ended at the server is told of by the advance") {
    Desk desk;
    REQUIRE(desk.send_and_see_it_run());
    desk.database.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
        "'seriatim/process/0' AND datname = current_database()");
    CHECK_THROWS_AS(desk.commit(desk.over(3), true), SessionLost);
    CHECK(desk.cursor("sequence") == "0");
  }

  TEST_CASE("is refused where the lane was taken meanwhile") {
    for (const bool goes_on : {false, true}) {
      CAPTURE(goes_on);
      Desk desk;
      auto move = desk.over(3);
      move.from = desk.round.records[5].position;  // not where the cursor stands
      const auto second = desk.over(3, 3);
      if (goes_on) move.next = &second;
      REQUIRE(desk.send(move));
      CHECK_FALSE(desk.commit(move, goes_on));
      CHECK(desk.cursor("sequence") == "0");
      CHECK(desk.noted().empty());
      CHECK_FALSE(desk.is_locked());
    }
  }

  TEST_CASE("that went out with the commit before and is refused leaves that commit as it is") {
    Desk desk;
    desk.database.run(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF NEW.sequence > 3 THEN RAISE EXCEPTION 'not this one'; END IF; RETURN NEW; END "
        "$$; CREATE TRIGGER no BEFORE UPDATE ON seriatim.cursor "
        "FOR EACH ROW EXECUTE FUNCTION no()");
    auto first = desk.over(3);
    const auto second = desk.over(3, 3);
    first.next = &second;
    REQUIRE(desk.send(first));
    REQUIRE(desk.commit(first, true));
    REQUIRE(desk.lane.session->lock(1, first.done.back()));
    REQUIRE(desk.send(second));
    CHECK_THROWS_AS(desk.commit(second), SourceBroken);
    CHECK(desk.cursor("position_id, sequence") == "3|3");
    CHECK(desk.lane.session->look().sequence == 3);
  }

  TEST_CASE("nobody hears that it was refused where it is not to be made") {
    for (const bool partly : {false, true}) {
      CAPTURE(partly);
      Desk desk;
      desk.database.run(
          "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS "
          "$$ BEGIN IF NEW.sequence = 3 THEN RAISE EXCEPTION 'not this one'; END IF; RETURN NEW; "
          "END $$; CREATE TRIGGER no BEFORE UPDATE ON seriatim.cursor "
          "FOR EACH ROW EXECUTE FUNCTION no()");
      REQUIRE(desk.send(desk.over(3)));
      if (partly) {
        CHECK(desk.lane.session->settle(1, desk.over(2)));
        CHECK(desk.cursor("position_id, sequence") == "2|2");
      } else {
        CHECK(desk.lane.session->settle(
            1, {desk.lane.cursor.position, {}, {}, Retry{{"1", "503"}, milliseconds{50}}}));
        CHECK(desk.cursor("state, failed_id, sequence") == "retrying|1|0");
      }
    }
  }

  TEST_CASE("for a call that is foreseen to end otherwise by now is taken back") {
    Desk desk(2);
    auto first = desk.over(2);
    const auto second = desk.over(2, 2);
    first.next = &second;
    REQUIRE(desk.send(first));
    REQUIRE(desk.commit(first, true));
    REQUIRE(desk.lane.session->lock(1, first.done.back()));
    auto last = second;
    last.fate = Rest{};  // the lane is to be left
    CHECK_FALSE(desk.send(last));
    REQUIRE(desk.lane.session->settle(1, last));
    CHECK(desk.cursor() == "4|4|0");
    CHECK(desk.noted() == "1 2 3 4");
  }

  TEST_CASE("what the server says no to is told, and nothing of it kept") {
    for (const bool goes_on : {false, true}) {
      CAPTURE(goes_on);
      Desk desk;
      desk.database.run(
          "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS "
          "$$ BEGIN RAISE EXCEPTION 'not this one'; END $$;"
          "CREATE TRIGGER no BEFORE UPDATE OF position_id ON seriatim.cursor "
          "FOR EACH ROW EXECUTE FUNCTION no()");
      REQUIRE(desk.send(desk.over(3)));
      try {
        desk.commit(desk.over(3), goes_on);
        FAIL("it was kept");
      } catch (const SourceBroken& refused) {
        CHECK(contains(refused.what(), "not this one"));
      }
      CHECK(desk.cursor("sequence") == "0");
      desk.database.run("DROP TRIGGER no ON seriatim.cursor");
      CHECK(desk.lane.session->start(1, true));
      CHECK(desk.lane.session->lock(1, std::nullopt));
      CHECK(desk.lane.session->settle(1, desk.over(3)));
    }
  }

  TEST_CASE("is taken back where the lock is asked for anew, and leaves room for a handler") {
    Desk desk;
    desk.database.run("CREATE TABLE model (n int)");
    REQUIRE(desk.send(desk.over(3)));
    REQUIRE(desk.lane.session->lock(1, std::nullopt));  // the call before this one never began
    desk.lane.session->transaction()->run("INSERT INTO model VALUES (1)", {});
    REQUIRE(desk.lane.session->settle(1, desk.over(3)));
    CHECK(desk.cursor() == "3|3|1");
    CHECK(desk.database.value("SELECT count(*) FROM model") == "1");
  }

  TEST_CASE("makes room for a handler that writes in its transaction, and is not sent again") {
    Desk desk;
    desk.database.run("CREATE TABLE model (n int)");
    REQUIRE(desk.send(desk.over(3)));
    desk.lane.session->transaction()->run("INSERT INTO model VALUES (1)", {});
    CHECK(desk.is_locked());
    REQUIRE(desk.commit(desk.over(3), true));
    CHECK(desk.cursor() == "3|3|1");
    CHECK(desk.database.value("SELECT count(*) FROM model") == "1");
    REQUIRE(desk.lane.session->lock(1, desk.round.records[2].position));
    CHECK_FALSE(desk.send(desk.over(3, 3)));
  }

  TEST_CASE("a connection that owes an answer takes no other statement") {
    TestDatabase database;
    Connection connection(database.url(), {});
    connection.begin("SELECT 1");
    connection.send_ahead({{"SELECT 1"}, {"SELECT 2"}});
    CHECK_THROWS_AS(connection.run("SELECT 1"), SessionLost);
    connection.rollback();
    CHECK(connection.run("SELECT 1")[0][0].as<int>() == 1);
  }
}

// `why`: one answer with evidence for every state a row can be in.
#include "postgres/admin/reports/row_report.hpp"
#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::RowReport;
using std::chrono::milliseconds;
using State = RowReport::State;

namespace {

struct WhyDesk : Desk {
  explicit WhyDesk(OrderBy order = OrderBy::created_at) : Desk(order) {
    target.source.insert_latency = milliseconds{0};  // young rows are delivered with the others
  }
  RowReport why(const std::string& id) { return admin.why(target, id); }
  LaneState lane_state(const std::string& id) { return why(id).lane.value().lane.state; }
};

}  // namespace

#define EACH_ORDER                     \
  OrderBy order = OrderBy::created_at; \
  SUBCASE("created_at order") {}       \
  SUBCASE("id order") {                \
    order = OrderBy::id;               \
  }

TEST_CASE("a row of a process that never ran waits for someone to run it") {
  EACH_ORDER
  WhyDesk desk(order);
  const auto first = desk.why("1");
  CHECK(first.state == State::next);
  CHECK(first.in_table);
  CHECK(first.created_at_us);
  CHECK(first.lane.value().lane.state == LaneState::standby);
  const auto third = desk.why("3");
  CHECK(third.state == State::waiting);
  CHECK(third.rows_before == 2);
  CHECK(third.lane.value().next_id == "1");
}

TEST_CASE("a row behind the cursor was delivered when the ledger notes it, whatever became of it") {
  EACH_ORDER
  WhyDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(2) == Ids{"1", "2"});
  const auto first = desk.why("1");
  CHECK(first.state == State::delivered);
  CHECK(first.noted.value().bucket.empty());
  CHECK_FALSE(first.sequence);
  CHECK(desk.why("2").sequence == 2);
  const auto next = desk.why("3");
  CHECK(next.state == State::next);
  CHECK(next.lane.value().lane.state == LaneState::running);
  CHECK_FALSE(next.lane.value().called_for);

  desk.insert(70);  // more than a bucket holds
  REQUIRE(relay.deliver().size() == 71);
  const auto closed = desk.why("1");
  REQUIRE(closed.noted);
  CHECK(closed.noted->bucket == "73");
  CHECK(closed.noted->closed_at.find('T') == 10);
  desk.target.source.where = "t.id > 1";  // it was delivered before the filter was written
  CHECK(desk.why("1").state == State::delivered);
  desk.database.run("DELETE FROM bookings WHERE id = 1");
  CHECK(desk.why("1").state == State::delivered);
  CHECK_FALSE(desk.why("1").in_table);
}

TEST_CASE("a row that came behind the cursor is late where the ledger has ids, else only passed") {
  EACH_ORDER
  WhyDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  const auto come_late = [&] {
    desk.database.run(
        "INSERT INTO bookings (id, created_at) OVERRIDING SYSTEM VALUE VALUES (-7, '2020-01-01')");
    CHECK(desk.why("-7").state == State::late);
  };
  SUBCASE("in a closed bucket") {
    desk.insert(70);
    REQUIRE(relay.deliver().size() == 70);
    come_late();
    desk.database.run(
        "UPDATE seriatim.ledger SET hash = coalesce(hash, seriatim.ledger_hash(ids, ranges)), ids "
        "= NULL, ranges = NULL");  // sealed
    CHECK(desk.why("-7").state == State::passed);
    CHECK(desk.why("2").state == State::passed);
  }
  SUBCASE("in the open one") {
    come_late();
    desk.database.run(  // as if there had been no ledger before
        "UPDATE seriatim.cursor SET bucket_at = position_at, bucket_id = position_id, bucket_ids = "
        "'{}', bucket_ranges = '{}'");
    CHECK(desk.why("-7").state == State::passed);
    CHECK(desk.why("1").state == State::passed);
    CHECK(desk.why("3").state == State::delivered);  // the cursor names it
  }
}

TEST_CASE("the row a handler is called with is reported as such, and no writer is blamed for it") {
  EACH_ORDER
  WhyDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  auto writer = desk.database.connect();
  writer.run("BEGIN; SELECT 1");
  desk.insert(1);
  REQUIRE(relay.poll().records.size() == 1);
  REQUIRE(relay.start());
  writer.run("INSERT INTO bookings (payload) VALUES ('{}')");  // older, but after row 4 was settled
  desk.insert(1);
  const auto answer = desk.why("4");
  CHECK(answer.state == State::next);
  REQUIRE(answer.lane);
  CHECK(answer.lane->called_for.has_value());
  CHECK(answer.lane->lane.state == LaneState::running);
  CHECK(answer.lane->lane.attempts == 1);
  CHECK(answer.lane->holder == "relay");
  CHECK(desk.why("6").rows_before == 1);
  REQUIRE(relay.settle({relay.cursor.position, {}, {}, Rest{}}));
  CHECK_FALSE(desk.why("4").lane.value().called_for);
}

TEST_CASE("a row that failed is reported with its reason, and those behind it with their number") {
  EACH_ORDER
  WhyDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  SUBCASE("halted") {
    halt_at_next(relay);
    const auto row = desk.why("2");
    CHECK(row.state == State::next);
    CHECK(row.lane.value().lane.state == LaneState::halted);
    CHECK(row.lane->lane.reason == HaltReason::poison);
    REQUIRE(row.act);
    CHECK(row.act->who == "relay");
    CHECK(row.act->why == "POISON: receiver said 422");
    CHECK(row.act->at.find('T') == 10);
    CHECK(std::stoi(row.act->number) > 0);
    desk.database.run("DELETE FROM bookings WHERE id = 2");
    const auto deleted = desk.why("2");
    CHECK(deleted.state == State::absent);
    CHECK(deleted.lane.value().lane.row_id == "2");
  }
  SUBCASE("retrying") {
    REQUIRE(relay.start());
    REQUIRE(relay.settle(
        {relay.cursor.position, {}, {}, Retry{{"2", "HTTP 503"}, milliseconds{60'000}}}));
    const auto row = desk.why("2");
    CHECK(row.state == State::next);
    CHECK(row.lane.value().lane.state == LaneState::retrying);
    CHECK(row.lane->lane.attempts == 1);
    CHECK(row.lane->lane.detail == "HTTP 503");
    CHECK(row.lane->lane.retry_in > milliseconds{0});
    const auto behind = desk.why("3");
    CHECK(behind.state == State::waiting);
    CHECK(behind.rows_before == 1);
    CHECK(behind.lane.value().lane.row_id == "2");
  }
}

TEST_CASE("a paused lane's row is reported with who paused it, when and why") {
  WhyDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  desk.admin.pause(desk.target, alice);
  const auto row = desk.why("1");
  CHECK(row.lane.value().lane.state == LaneState::paused);
  REQUIRE(row.act);
  CHECK(row.act->who == "alice@desk");
  CHECK(row.act->why == "the number is wrong");
}

TEST_CASE("a row set aside is reported with who did it and why, also once it is deleted") {
  EACH_ORDER
  WhyDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  halt_at_next(relay);
  desk.admin.skip(desk.target, "1", alice);
  for (const bool deleted : {false, true}) {
    if (deleted) desk.database.run("DELETE FROM bookings WHERE id = 1");
    const auto row = desk.why("1");
    CHECK(row.state == State::set_aside);
    CHECK(row.in_table == !deleted);
    REQUIRE(row.act);
    CHECK(row.act->who == "alice@desk");
    CHECK(row.act->why == "the number is wrong");
  }
}

TEST_CASE("a row behind the fence is reported with the transaction that holds it") {
  EACH_ORDER
  WhyDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  auto writer = desk.database.connect("billing");
  writer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");
  desk.insert(2);
  const auto row = desk.why("5");
  CHECK(row.state == State::next);
  REQUIRE(row.lane.value().lane.state == LaneState::fenced);
  CHECK(row.lane->lane.blockers.at(0).pid == writer.pid());
  CHECK(desk.why("6").rows_before == 1);

  SUBCASE("and its own row, not committed, with who may still commit it") {
    const auto hidden = desk.why("4");
    CHECK(hidden.state == State::absent);
    CHECK_FALSE(hidden.never_drawn);
    REQUIRE(hidden.writers.size() == 1);
    CHECK(hidden.writers[0].pid == writer.pid());
  }
  SUBCASE("prepared") {
    writer.run("PREPARE TRANSACTION 'why'");
    CHECK(desk.why("5").lane.value().lane.blockers.at(0).gid == "why");
    CHECK(desk.why("4").writers.at(0).gid == "why");
    desk.database.run("ROLLBACK PREPARED 'why'");
  }
}

TEST_CASE(
    "an id that is not in the table is classified: never drawn, a hole, delivered and deleted") {
  EACH_ORDER
  WhyDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  desk.database.run("DELETE FROM bookings WHERE id = 2");
  REQUIRE(relay.deliver() == Ids{"1", "3"});
  const auto future = desk.why("99");
  CHECK(future.state == State::absent);
  CHECK(future.never_drawn);
  CHECK(future.last_drawn == "3");
  const auto hole = desk.why("2");
  CHECK(hole.state == State::absent);
  CHECK_FALSE(hole.never_drawn);
  CHECK(hole.writers.empty());
  CHECK(hole.behind_cursor == (order == OrderBy::id));
  desk.database.run("DELETE FROM bookings WHERE id = 3");
  const auto pruned = desk.why("3");
  CHECK(pruned.state == State::delivered);
  CHECK_FALSE(pruned.in_table);
  CHECK(pruned.sequence == 2);
}

TEST_CASE("a row that `where` leaves out is reported with what it says: false or NULL") {
  EACH_ORDER
  WhyDesk desk(order);
  desk.target.source.where = "t.customer <> 'test'";
  desk.database.run("INSERT INTO bookings (customer) VALUES ('test')");
  const auto filtered = desk.why("4");
  CHECK(filtered.state == State::filtered);
  CHECK(filtered.where == "t.customer <> 'test'");
  CHECK(filtered.matches == false);
  const auto unknown = desk.why("1");
  CHECK(unknown.state == State::filtered);
  CHECK_FALSE(unknown.matches);
}

TEST_CASE("a row of an ignored event type is reported so, also if `where` is false as well") {
  EACH_ORDER
  WhyDesk desk(order);
  desk.target.source.event_type = "customer";
  desk.target.source.ignore = {"test", "noted"};
  desk.database.run("INSERT INTO bookings (customer) VALUES ('noted')");
  CHECK(desk.why("4").state == State::filtered);
  CHECK(desk.why("4").ignored == "noted");
  CHECK(desk.why("1").state == State::next);  // of no type
  CHECK_FALSE(desk.why("1").ignored);
  desk.target.source.where = "t.id < 4";
  CHECK(desk.why("4").ignored == "noted");
}

TEST_CASE("a row is reported in the lane its key leads to") {
  WhyDesk desk;
  desk.target.process.lanes = 4;
  desk.target.source.key = "customer";
  desk.database.run(
      "INSERT INTO bookings (customer) SELECT 'c' || n FROM generate_series(1, 20) AS n");
  for (unsigned lane = 0; lane < 4; ++lane) {
    unsigned place = 0;
    const auto waiting = desk.admin.peek(desk.target, lane, 100);
    for (const auto& peeked : waiting.rows) {
      const auto row = desk.why(peeked.record.id());
      CAPTURE(row.id);
      CHECK(row.lane.value().lane.lane == lane);
      CHECK(row.key == peeked.record.key);
      CHECK(row.rows_before == place++);
    }
  }
}

TEST_CASE("a row that cannot be read is reported before its lane halts at it") {
  EACH_ORDER
  WhyDesk desk(order);
  desk.target.source.payload_max = 10;
  desk.database.run("INSERT INTO bookings (payload) VALUES ('\"0123456789\"')");
  CHECK(desk.why("4").unreadable == "its payload has 12 bytes, payload_max is 10");
  CHECK(desk.why("3").unreadable.empty());
  desk.target.source.where = "1 / (t.id - 2) IS NOT NULL";
  const auto row = desk.why("2");
  CHECK(row.unreadable.find("division by zero") != std::string::npos);
}

TEST_CASE("a row without a place in the order, and one that is too young, are reported as such") {
  WhyDesk desk;
  desk.database.run("INSERT INTO bookings (created_at) VALUES ('infinity')");
  CHECK(desk.why("4").state == State::unplaced);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  desk.target.source.insert_latency = milliseconds{3'600'000};
  const auto young = desk.why("1");
  CHECK(young.state == State::next);
  CHECK(young.ripens_in > milliseconds{0});
}

TEST_CASE("an id of the wrong type is refused, one in another spelling is understood") {
  WhyDesk desk;
  CHECK(desk.why(" 001").id == "1");
  try {
    (void)desk.why("abc");
    FAIL("no number");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("\"abc\" is no id of table") == 0);
  }
}

TEST_CASE("the relay's own role can ask, and learns when the journal is hidden from it") {
  WhyDesk desk;
  const LeastRole role(desk.database, "bookings");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  halt_at_next(relay);
  Admin admin(role.url());
  auto row = admin.why(desk.target, "1");
  CHECK(row.act.value().why == "POISON: receiver said 422");
  desk.database.run("REVOKE SELECT ON seriatim.journal FROM " + role.name());
  row = admin.why(desk.target, "1");
  CHECK_FALSE(row.act);
  CHECK(row.journal_hidden);
  CHECK(row.lane.value().lane.state == LaneState::halted);
}

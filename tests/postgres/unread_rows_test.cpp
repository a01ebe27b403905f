// One row on which `where`, `key` or `payload` fails: what the lane does, and what is said of the
// rows around it.
#include "postgres/admin/reports/row_report.hpp"
#include "postgres/desk.hpp"
#include "seriatim/relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace seriatim::postgres;

namespace {

constexpr const char* no_division = "ERROR:  division by zero (SQLSTATE 22012)";

/// Rows 1, 2, 3 …, every third one left out by `where`, which fails on the row named.
struct UnreadDesk : Desk {
  explicit UnreadDesk(OrderBy order = OrderBy::created_at) : Desk(order) {
    database.run("TRUNCATE bookings RESTART IDENTITY; ALTER TABLE bookings ADD n int");
    target.source.where = "10 / t.n > 0";
  }
  void fill(int rows, int bad) {
    database.run(
        "INSERT INTO bookings (customer, payload, n) SELECT 'c' || i, '{}', CASE WHEN i = " +
        std::to_string(bad) + " THEN 0 WHEN i % 3 = 0 THEN -1 ELSE 1 END FROM generate_series(1, " +
        std::to_string(rows) + ") AS i; ANALYZE bookings");
  }
  LaneStatus drain(Ids& delivered) {
    Relay relay({.drain = true});
    relay.add(target.process, postgres_source(database.url(), target.source),
              handler_from([&](const Record& record) {
                delivered.push_back(record.id());
                return Outcome::done();
              }));
    return relay.run({}).front();
  }
  LaneReport status() { return admin.status(target).at(0); }
};

}  // namespace

TEST_CASE("rows before one that cannot be judged go out, and the lane halts there by its name") {
  BOTH_ORDERS
  for (const bool indexed : {true, false}) {  // without: judged whole by a sort, or passed unread
    CAPTURE(indexed);
    UnreadDesk desk(order);
    desk.fill(20, 8);
    if (!indexed) {
      desk.database.run(
          "DROP INDEX bookings_created_at_id_idx; ALTER TABLE bookings DROP CONSTRAINT "
          "bookings_pkey");
    }
    Ids delivered;
    const auto left = desk.drain(delivered);
    CHECK(delivered == Ids{"1", "2", "4", "5", "7"});
    CHECK(left.state == LaneState::halted);
    CHECK(left.reason == HaltReason::bad_payload);
    CHECK(left.row_id == "8");
    CHECK(left.detail == no_division);

    CHECK(desk.admin.retry(desk.target, alice).size() == 1);
    desk.database.run("UPDATE bookings SET n = 1 WHERE id = 8");
    CHECK(desk.drain(delivered).state == LaneState::stopped);
    CHECK(delivered.size() == 14);
  }
}

TEST_CASE("a relay that begins before a row that cannot be judged delivers those before it") {
  BOTH_ORDERS
  UnreadDesk desk(order);
  desk.fill(20, 8);
  {
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver(1) == Ids{"1"});
    REQUIRE(relay.deliver(1) == Ids{"2"});
  }
  Ids delivered;
  const auto left = desk.drain(delivered);
  CHECK(delivered == Ids{"4", "5", "7"});
  CHECK(left.row_id == "8");
  CHECK(left.detail == no_division);
}

TEST_CASE("a row that cannot be judged is waited for like any other before it halts its lane") {
  BOTH_ORDERS
  UnreadDesk desk(order);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  auto producer = desk.database.connect();
  producer.run("BEGIN; INSERT INTO bookings (payload, n) VALUES ('{}', 1)");
  desk.database.run("INSERT INTO bookings (payload, n) VALUES ('{}', 0)");
  CHECK(relay.poll().fenced);
  producer.run("COMMIT");
  CHECK(relay.deliver() == Ids{"1"});
  CHECK(relay.poll().unreadable.value().row_id == "2");
}

TEST_CASE("a row whose key fails halts its lanes by its name") {
  UnreadDesk desk;
  desk.target.source.where = "";
  desk.target.source.key = "(10 / t.n)::text";
  desk.target.process.lanes = 2;
  desk.fill(20, 8);
  for (unsigned lane = 0; lane < 2; ++lane) {
    TestLane relay(desk.database, desk.target.source, "relay", {"process", lane, 2});
    REQUIRE(relay.claim());
    while (!relay.deliver().empty()) {
    }
    CHECK(relay.poll().unreadable.value().row_id == "8");
  }
  for (const auto& report : desk.admin.status(desk.target)) {
    CHECK_FALSE(report.lag_records);
    CHECK(report.unread.value().id == "8");
  }
}

TEST_CASE("a row far behind others that `where` leaves out is found") {
  BOTH_ORDERS
  UnreadDesk desk(order);
  desk.database.run(
      "INSERT INTO bookings (payload, n) SELECT '{}', CASE WHEN i = 2222 THEN 0 ELSE -1 END "
      "FROM generate_series(1, 3000) AS i");
  Ids delivered;
  const auto left = desk.drain(delivered);
  CHECK(delivered.empty());
  CHECK(left.row_id == "2222");
  CHECK(desk.status().unread.value().id == "2222");
  CHECK(desk.status().unread.value().rows_before == 0);
}

TEST_CASE("the lag is unknown where one of 1 001 rows cannot be judged") {
  BOTH_ORDERS
  UnreadDesk desk(order);
  desk.fill(1'001, 500);
  const auto report = desk.status();
  CHECK_FALSE(report.lag_records);
  CHECK(report.next_id == "1");
  CHECK(report.lag_age);
  REQUIRE(report.unread);
  CHECK(report.unread->id == "500");
  CHECK(report.unread->error == no_division);
  CHECK(report.unread->reason == HaltReason::bad_payload);
  CHECK(report.unread->rows_before == 333);

  Ids delivered;
  CHECK(desk.drain(delivered).row_id == "500");  // what the report said before
  CHECK(delivered.size() == 333);
  CHECK(desk.status().unread.value().rows_before == 0);
  CHECK(desk.status().next_id == "500");
}

TEST_CASE("a row behind the cursor that cannot be judged any more leaves the lag known") {
  BOTH_ORDERS
  UnreadDesk desk(order);
  desk.fill(20, 0);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  CHECK(relay.deliver(5).size() == 5);
  desk.database.run("UPDATE bookings SET n = 0 WHERE id = 2");
  CHECK(desk.status().lag_records == 9);
  CHECK_FALSE(desk.status().unread);
}

TEST_CASE("the lag is unknown where the table cannot be read at all") {
  Desk desk;
  SUBCASE("gone") {
    desk.database.run("DROP TABLE bookings");
  }
  SUBCASE("an expression that names no column") {
    desk.target.source.where = "t.gone";
  }
  const auto report = desk.admin.status(desk.target).at(0);
  CHECK_FALSE(report.lag_records);
  CHECK_FALSE(report.late_records);
  CHECK_FALSE(report.lag_age);
  REQUIRE(report.unread);
  CHECK_FALSE(report.unread->id);
  CHECK(report.unread->reason == HaltReason::source_changed);
}

TEST_CASE("peek shows the rows before one that cannot be read, and names that one") {
  BOTH_ORDERS
  struct Case {
    const char* name;
    std::string SourceConfig::*setting;
    std::string expression;
  };
  const std::vector<Case> cases{
      {"payload", &SourceConfig::payload, "(10 / t.n)::text"},
      {"key", &SourceConfig::key, "(10 / t.n)::text"},
      {"headers", &SourceConfig::headers, "jsonb_build_object('h', 10 / t.n)"},
      {"where", &SourceConfig::where, "10 / t.n <> 0"}};
  for (const auto& [name, setting, expression] : cases) {
    for (const int bad : {1, 4, 11}) {
      const auto& shown = name;
      CAPTURE(shown);
      CAPTURE(bad);
      UnreadDesk desk(order);
      desk.target.source.where = "";
      desk.target.source.*setting = expression;
      desk.fill(20, bad);
      const auto before = static_cast<std::size_t>(bad - 1);
      const auto peeked = desk.admin.peek(desk.target, 0, 10);
      CHECK(peeked.rows.size() == std::min<std::size_t>(before, 10));
      for (const auto& row : peeked.rows) CHECK(row.settled);
      if (before >= 10) {
        CHECK_FALSE(peeked.unread);
        continue;
      }
      REQUIRE(peeked.unread);
      CHECK(peeked.unread->id == std::to_string(bad));
      CHECK(peeked.unread->error == no_division);
      CHECK(peeked.unread->rows_before == before);
    }
  }
}

TEST_CASE("peek names a row that is too large, and one without a place in the order") {
  Desk desk;
  SUBCASE("too large") {
    desk.target.source.payload_max = 1;
    CHECK(desk.admin.peek(desk.target, 0, 10).unread.value().id == "1");
  }
  SUBCASE("without a place") {
    desk.database.run(
        "DELETE FROM bookings; INSERT INTO bookings (created_at) VALUES ('infinity')");
    const auto peeked = desk.admin.peek(desk.target, 0, 10);
    CHECK(peeked.rows.empty());
    CHECK(peeked.unread.value().id == "4");
  }
}

TEST_CASE("why: a row behind one that cannot be judged waits behind an unknown number") {
  BOTH_ORDERS
  UnreadDesk desk(order);
  desk.fill(20, 8);
  const auto before = desk.admin.why(desk.target, "5");
  CHECK(before.state == RowReport::State::waiting);
  CHECK(before.rows_before == 3);
  const auto at = desk.admin.why(desk.target, "8");
  CHECK(at.state == RowReport::State::waiting);
  CHECK(at.rows_before == 5);
  CHECK(at.unreadable == no_division);
  const auto behind = desk.admin.why(desk.target, "10");
  CHECK(behind.state == RowReport::State::waiting);
  CHECK_FALSE(behind.rows_before);
  CHECK(behind.lane.value().unread.value().id == "8");
}

TEST_CASE("skip says that a row which cannot be judged is corrected, not skipped") {
  UnreadDesk desk;
  desk.fill(5, 1);
  Ids delivered;
  REQUIRE(desk.drain(delivered).row_id == "1");
  std::string said;
  try {
    (void)desk.admin.skip(desk.target, "1", alice);
  } catch (const Error& error) {
    said = error.what();
  }
  CAPTURE(said);
  CHECK(contains(said, "row 1 cannot be judged by `where` or `key`: ERROR:  division by zero"));
  CHECK(contains(said, "nothing was skipped"));
  CHECK(contains(said, "then: seriatim retry process"));
  CHECK(desk.cursor("state, sequence") == "halted|0");
}

TEST_CASE("an audit that cannot judge a row proves nothing and names the row") {
  BOTH_ORDERS
  UnreadDesk desk(order);
  desk.fill(5, 0);
  Ids delivered;
  REQUIRE(desk.drain(delivered).state == LaneState::stopped);
  desk.database.run("UPDATE bookings SET n = 0 WHERE id = 2");
  std::string said;
  try {
    (void)desk.admin.audit(desk.target, false, [](std::uint64_t) {});
  } catch (const Error& error) {
    said = error.what();
  }
  CAPTURE(said);
  CHECK(contains(said,
                 "lane 0: row 2 cannot be judged by `where` or `key`: ERROR:  division by zero"));
  CHECK(contains(said, "so nothing is proved"));
}

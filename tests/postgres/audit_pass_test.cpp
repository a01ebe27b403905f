// Rows that appear behind the cursor are found, whatever put them there.
#include <doctest/doctest.h>

#include "postgres/desk.hpp"
#include "postgres/test_auditor.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

std::optional<Halted> audited(Desk& desk, std::chrono::milliseconds patience = 20s) {
  return audited(desk.database, desk.target.source, patience);
}

/// One check of everything: nothing is found then, or the halt is at once.
std::optional<Halted> first_pass(Desk& desk) {
  return audit_fully(desk.database, desk.target.source);
}

void deliver_all(TestLane& lane, unsigned rows_max = 100) {
  while (!lane.deliver(rows_max).empty()) {
  }
}

}  // namespace

TEST_CASE("a row with an explicit place behind the cursor is found while the lane is idle") {
  BOTH_ORDERS
  Desk desk(order);
  desk.database.run("DELETE FROM bookings WHERE id = 2");  // before delivery: a hole
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"1", "3"});
  CHECK_FALSE(audited(desk, 100ms));
  desk.database.run(std::string(behind) + "SELECT 2, created_at, '{}' FROM bookings WHERE id = 1");
  const auto found = audited(desk);
  REQUIRE(found);
  CHECK(found->reason == "LATE_ROW");
  CHECK(found->row_id == "2");
  CHECK(contains(found->detail, "1 row appeared behind the cursor (row 3)"));
  CHECK(contains(found->detail, "not delivered: 2"));
  CHECK(contains(found->detail, "`skip`"));
  CHECK(found->detail.size() < Outcome::reason_bytes_max);
}

TEST_CASE("while rows are delivered all the time, too") {
  BOTH_ORDERS
  Desk desk(order);
  desk.database.run(std::string(behind) + "VALUES (1000, clock_timestamp(), '{}')");
  desk.database.run("SELECT setval(pg_get_serial_sequence('bookings', 'id'), 1000)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  desk.database.run(std::string(behind) +
                    "SELECT 500, created_at, '{}' FROM bookings WHERE id = 2");
  TestAuditor auditor(desk.database, desk.target.source);
  const auto end = std::chrono::steady_clock::now() + 20s;
  const auto found = auditor.audit_until(desk.database, [&] {
    desk.insert(1);
    deliver_all(relay);
    return std::chrono::steady_clock::now() > end;
  });
  REQUIRE(found);
  CHECK(found->row_id == "500");
}

TEST_CASE("in a bucket closed long ago, by the walk over all that have ids") {
  BOTH_ORDERS
  Desk desk(order);
  desk.database.run(
      "INSERT INTO bookings (id, payload) OVERRIDING SYSTEM VALUE SELECT i * 2, '{}' FROM "
      "generate_series(2, 4000) AS i");
  desk.database.run("SELECT setval(pg_get_serial_sequence('bookings', 'id'), 8000)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  REQUIRE(relay.cursor.sequence >= 4000);
  desk.database.run(std::string(behind) +
                    "SELECT 201, created_at, '{}' FROM bookings WHERE id = 200");
  const auto found = audited(desk);
  REQUIRE(found);
  CHECK(found->row_id == "201");
}

TEST_CASE("many late rows are counted, and no more named than a person reads") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  desk.database.run(std::string(behind) +
                    "SELECT i, '2020-01-01Z', '{}' FROM generate_series(2001, 2030) AS i");
  const auto found = audited(desk);
  REQUIRE(found);
  CHECK(contains(found->detail, "30 rows appeared behind the cursor"));
  CHECK(contains(found->detail, "2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008, 2009, 2010 …"));
}

TEST_CASE("rows deleted, before delivery or since, are no late rows") {
  BOTH_ORDERS
  Desk desk(order);
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 300)");
  desk.database.run("DELETE FROM bookings WHERE id % 7 = 0");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  desk.database.run("DELETE FROM bookings WHERE id % 5 = 0");
  CHECK_FALSE(first_pass(desk));
}

TEST_CASE("a row whose key or time was changed after delivery is not late") {
  Desk desk;
  desk.target.source.key = "customer";
  desk.target.process.lanes = 2;
  desk.database.run("UPDATE bookings SET customer = id::text");
  for (unsigned lane : {0U, 1U}) {
    TestLane relay(desk.database, desk.target.source, "relay", {"process", lane, 2});
    REQUIRE(relay.claim());
    deliver_all(relay);
  }
  desk.database.run("UPDATE bookings SET customer = 'moved' WHERE id < 3");
  desk.database.run("UPDATE bookings SET created_at = '2020-01-01Z' WHERE id = 1");
  CHECK_FALSE(first_pass(desk));
}

TEST_CASE("a row made to match `where` behind the cursor is found") {
  Desk desk;
  desk.target.source.where = "customer IS NOT NULL";
  desk.database.run("UPDATE bookings SET customer = 'c' WHERE id <> 2");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"1", "3"});
  desk.database.run("UPDATE bookings SET customer = 'c' WHERE id = 2");
  const auto found = audited(desk);
  REQUIRE(found);
  CHECK(found->row_id == "2");
}

TEST_CASE("ids drawn ahead of their insert are found in id order") {  // FAULTS 6
  Desk desk(OrderBy::id);
  const auto drawn =
      desk.database.value("SELECT nextval(pg_get_serial_sequence('bookings', 'id'))");
  desk.insert(1);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"1", "2", "3", "5"});
  desk.database.run(std::string(behind) + "VALUES (" + drawn + ", clock_timestamp(), '{}')");
  const auto found = audited(desk);
  REQUIRE(found);
  CHECK(found->row_id == "4");
}

TEST_CASE("retry checks again: a row stamped anew goes out in its place, an unmended one halts") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  const auto insert = std::string(behind) + "VALUES (50, '2020-01-01Z', '{}')";
  desk.database.run(insert);
  const auto found = audited(desk);
  REQUIRE(found);
  CHECK(desk.cursor("state, reason, failed_id, position_id") == "halted|LATE_ROW|50|3");
  CHECK(halts_in_journal(desk.database) == "the auditor of relay|50");

  desk.admin.retry(desk.target, alice);
  REQUIRE(first_pass(desk));

  desk.insert(1);
  desk.database.run("UPDATE bookings SET created_at = DEFAULT WHERE id = 50");
  desk.admin.retry(desk.target, alice);
  REQUIRE(relay.claim());
  CHECK(relay.deliver() == Ids{"4", "50"});
}

TEST_CASE("a late row stamped anew is not skipped while an earlier one may still come") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  desk.database.run(std::string(behind) + "SELECT 50, created_at, '{}' FROM bookings WHERE id = 1");
  const auto found = audited(desk);
  REQUIRE(found);
  auto producer = desk.database.connect();
  producer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");
  desk.database.run("UPDATE bookings SET created_at = clock_timestamp() WHERE id = 50");
  CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "50", alice),
                       doctest::Contains(("pid " + std::to_string(producer.pid())).c_str()), Error);
  producer.run("COMMIT");
  desk.admin.retry(desk.target, alice);
  REQUIRE(relay.claim());
  CHECK(relay.deliver() == Ids{"4", "50"});
}

TEST_CASE("skip sets aside exactly the late row, and the cursor stays") {
  BOTH_ORDERS
  Desk desk(order);
  bool in_closed_bucket = false;
  SUBCASE("in the open bucket") {}
  SUBCASE("in a closed one") {
    in_closed_bucket = true;
  }
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 10)");
  desk.database.run("DELETE FROM bookings WHERE id IN (5, 6)");
  if (in_closed_bucket) {
    desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(11, 200)");
  }
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  const auto cursor = desk.cursor("position_at, position_id");
  desk.database.run(
      std::string(behind) +
      "SELECT i, created_at, '{}' FROM bookings, generate_series(5, 6) AS i WHERE id = 4");
  const auto found = audited(desk);
  REQUIRE(found);
  const auto sequence = std::stoi(desk.cursor("sequence"));
  CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "4", alice),
                       doctest::Contains("nothing was skipped"), Error);  // was delivered
  CHECK(desk.admin.skip(desk.target, "5", alice).at(0) ==
        "lane 0: skipped late row 5 (sequence " + std::to_string(sequence + 1) + ")");
  CHECK(desk.cursor("position_at, position_id") == cursor);
  CHECK(desk.journal("act, who, why, row_id") == "skip|alice@desk|the number is wrong|5");
  REQUIRE(relay.claim());
  const auto next = audited(desk);  // the other one
  REQUIRE(next);
  CHECK(next->row_id == "6");
  desk.admin.skip(desk.target, "6", alice);
  CHECK_FALSE(first_pass(desk));
  CHECK(desk.database.value(
            "SELECT (SELECT coalesce(sum(rows), 0) FROM seriatim.ledger) + "
            "seriatim.ledger_rows(bucket_ids, bucket_ranges) = sequence FROM seriatim.cursor") ==
        "t");
  CHECK(desk.database.value(
            "SELECT coalesce(bool_and(rows = seriatim.ledger_rows(ids, ranges) AND "
            "coalesce(hash, 0) IN (0, seriatim.ledger_hash(ids, ranges))), true) FROM "
            "seriatim.ledger") == "t");
}

TEST_CASE("ids that began again and passed the old cursor halt with CURSOR_AHEAD") {  // FAULTS 7
  Desk desk(OrderBy::id);
  bool hole = false;
  SUBCASE("a row has the cursor's id") {}
  SUBCASE("a hole is there, the ends of buckets speak") {
    hole = true;
  }
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 200)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  REQUIRE(relay.cursor.position->id == "200");
  CHECK_FALSE(first_pass(desk));
  desk.database.run("TRUNCATE bookings RESTART IDENTITY");
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(1, 250)");
  if (hole) desk.database.run("DELETE FROM bookings WHERE id = 200");
  const auto found = first_pass(desk);
  REQUIRE(found);
  CHECK(found->reason == "CURSOR_AHEAD");
  CHECK(contains(found->detail, "began again"));
  const auto audit = desk.admin.audit(desk.target, true, [](std::uint64_t) {}).front();
  CHECK_FALSE(audit.sound());
  REQUIRE(audit.mismatch_texts.size() == audit.mismatches);
  CHECK(contains(audit.mismatch_texts.at(0), "its ids began again"));
}

TEST_CASE("times that were changed in bulk halt in id order, until a person goes on behind them") {
  Desk desk(OrderBy::id);
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 200)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  desk.database.run("UPDATE bookings SET created_at = created_at + interval '1 hour'");
  desk.insert(1);
  const auto found = first_pass(desk);
  REQUIRE(found);
  CHECK(contains(found->detail, "--to id:NEXT, or --to end if there is no row after it"));
  desk.admin.rewind(desk.target, {postgres::RewindPlace::Kind::row, "201"}, alice);
  CHECK_FALSE(first_pass(desk));
  CHECK(desk.admin.audit(desk.target, false, [](std::uint64_t) {}).front().sound());
  REQUIRE(relay.claim());
  CHECK(relay.deliver() == Ids{"201"});
}

TEST_CASE("old buckets are sealed: merged within the hour, with count and hash, without ids") {
  Desk desk;
  desk.target.source.audit_window = 3'600'000ms;
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 1000)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  const auto sums =
      "SELECT concat_ws('|', sum(rows), bit_xor(coalesce(hash, seriatim.ledger_hash(ids, "
      "ranges)))) FROM seriatim.ledger";
  const auto before = desk.database.value(sums);
  CHECK_FALSE(first_pass(desk));
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.ledger WHERE ids IS NULL") == "0");
  desk.database.run(
      "UPDATE seriatim.ledger SET closed_at = date_trunc('hour', closed_at) - CASE WHEN number < "
      "300 THEN interval '5 hours' ELSE interval '3 hours' END WHERE number <= 600");
  for (int turn = 0; turn < 4; ++turn) CHECK_FALSE(first_pass(desk));
  CHECK(desk.database.value(sums) == before);
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.ledger WHERE ids IS NULL") == "2");
  CHECK(desk.database.value("SELECT bool_and(number > 600) FROM seriatim.ledger WHERE ids IS NOT "
                            "NULL") == "t");
  CHECK(desk.database.value(
            "SELECT count(*) FROM (SELECT (from_at, from_id) IS NOT DISTINCT FROM (lag(to_at) OVER "
            "o, lag(to_id) OVER o) AS joins FROM seriatim.ledger WINDOW o AS (ORDER BY number)) AS "
            "x WHERE NOT joins") == "0");
}

TEST_CASE("no more ids are kept than the limit, however young they are") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 300)");
  // However young rows cut the batches, the second bucket ends before row 150.
  deliver_all(relay, 10);
  desk.database.run("UPDATE seriatim.cursor SET sequence = sequence + 1000000 - 150");
  CHECK_FALSE(first_pass(desk));
  CHECK(desk.database.value("SELECT max(number) < 200 FROM seriatim.ledger WHERE ids IS NULL") ==
        "t");
  CHECK(desk.database.value("SELECT min(number) >= 150 FROM seriatim.ledger WHERE ids IS NOT "
                            "NULL") == "t");
}

TEST_CASE("old buckets are sealed turn by turn, behind the walk and not only at its end") {
  Desk desk(OrderBy::id);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  deliver_all(relay);
  desk.database.run(
      "INSERT INTO seriatim.ledger (process_name, lane, lanes, number, from_at, from_id, to_at, "
      "to_id, rows, ids, ranges, newest_at, closed_at) SELECT 'process', 0, 1, n + 1000, now(), "
      "n::text, now(), (n + 1000)::text, 1000, '{}', int8multirange(int8range(n + 1, n + 1001)), "
      "now(), now() - interval '2 days' FROM generate_series(3, 1500000, 1000) AS n; "
      "ANALYZE seriatim.ledger");
  desk.database.run(
      "ALTER TABLE seriatim.cursor DISABLE TRIGGER USER; "
      "UPDATE seriatim.cursor SET (position_id, bucket_id, sequence, handed_to, position_at, "
      "bucket_at, bucket_ids, bucket_ranges) = (SELECT to_id, to_id, number, number, now(), now(), "
      "'{}'::text[], '{}'::int8multirange FROM seriatim.ledger ORDER BY number DESC LIMIT 1)");
  TestAuditor auditor(desk.database, desk.target.source);
  const auto unsealed = [&] {
    return std::stoul(
        desk.database.value("SELECT count(*) FROM seriatim.ledger WHERE ids IS NOT NULL"));
  };
  for (auto before = unsealed(), turn = 0UL; turn < 3; ++turn) {
    auditor.session->check();
    const auto left = unsealed();
    CHECK(left < before);
    CHECK(left > 0);
    before = left;
  }
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.audited") == "0");
  CHECK_FALSE(halted(desk.database));
}

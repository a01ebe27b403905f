// late_rows = "deliver": rows that appear behind the cursor, within the lookback, go out late.
#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "postgres/admin/check/check.hpp"
#include "postgres/admin/reports/row_report.hpp"
#include "postgres/late_desk.hpp"
#include "postgres/test_auditor.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

TEST_CASE("a row that appears behind the cursor goes out marked as late, and the cursor stays") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"1", "2", "3"});
  const auto cursor = desk.cursor("position_at, position_id");
  desk.insert_at(50, "5 min");
  desk.insert_at(40, "1 min");
  desk.insert(1);  // after the cursor: waits for the late ones
  CHECK(ids_and_late(relay.poll()) == Seen{{"50", true}, {"40", true}, {"4", false}});
  CHECK(relay.deliver(2) == Ids{"50", "40"});
  CHECK(desk.cursor("position_at, position_id") == cursor);
  CHECK(desk.cursor("sequence") == "5");
  CHECK(ids_and_late(relay.poll()) == Seen{{"4", false}});
  CHECK(relay.deliver() == Ids{"4"});
  CHECK(relay.poll().records.empty());
  CHECK(desk.sound());
}

TEST_CASE("a late row behind the lookback halts, one within goes out") {
  LateDesk desk;
  desk.target.source.lookback = 60s;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  desk.insert_at(50, "30 s");
  CHECK(relay.deliver() == Ids{"50"});
  desk.insert_at(60, "2 min");
  CHECK(relay.poll().records.empty());
  const auto found = audited(desk.database, desk.target.source);
  REQUIRE(found);
  CHECK(found->reason == "LATE_ROW");
  CHECK(found->row_id == "60");
}

TEST_CASE("a row that goes out late, and is tried again, is not late for the auditor") {
  LateDesk desk;
  desk.target.source.lookback = 60s;
  desk.database.run(
      "UPDATE bookings SET created_at = now() - interval '10 min' + id * interval '1 s'");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"1", "2", "3"});
  desk.insert(1);  // with it the cursor leaps
  REQUIRE(relay.deliver() == Ids{"4"});
  desk.insert_at(50, "10 min 30 s");
  REQUIRE(ids_and_late(relay.poll()) == Seen{{"50", true}});
  REQUIRE(relay.start());  // the last check is at the cursor now
  REQUIRE(relay.settle({relay.cursor.position, {}, {}, Retry{{"50", "receiver said 503"}, 0s}}));
  CHECK_FALSE(audit_fully(desk.database, desk.target.source));

  desk.insert_at(51, "10 min 30 s");  // one that nobody knows is still found
  const auto found = audit_fully(desk.database, desk.target.source);
  REQUIRE(found);
  CHECK(found->row_id == "51");
  CHECK(contains(found->detail, "1 row appeared"));
}

TEST_CASE("a transaction that began before rows delivered since is not lost") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  auto slow = desk.database.connect("slow");
  slow.run("BEGIN; SELECT now()");
  desk.insert(2);
  REQUIRE(relay.deliver() == Ids{"1", "2", "3", "4", "5"});
  slow.run("INSERT INTO bookings (payload) VALUES ('{}')");  // stamped before 4 and 5
  CHECK(relay.poll().records.empty());
  slow.run("COMMIT");
  CHECK(ids_and_late(relay.poll()) == Seen{{"6", true}});
  CHECK(relay.deliver() == Ids{"6"});
}

TEST_CASE("a transaction that committed before another began goes out first, whenever it began") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  auto first = desk.database.connect("first");
  first.run("BEGIN; SELECT now()");
  desk.insert(1);
  while (relay.deliver().size() > 0) {  // the bound of `first` is known, no complete check is due
  }
  for (int id = 5; id < 40; id += 3) {
    first.run("INSERT INTO bookings (payload) VALUES ('{}'); COMMIT; BEGIN; SELECT now()");
    desk.insert(2);  // begun since
    const auto a = std::to_string(id);
    const auto b = std::to_string(id + 1);
    const auto c = std::to_string(id + 2);
    REQUIRE(ids_and_late(relay.poll()) == Seen{{a, true}, {b, false}, {c, false}});
    REQUIRE(relay.deliver() == Ids{a, b, c});
  }
  CHECK(desk.sound());
}

TEST_CASE("status and check name the transaction that makes late rows swap") {
  LateDesk desk;
  const auto report = [&] { return desk.admin.status(desk.target).at(0).long_transaction; };
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  auto dump = desk.database.connect("dump");
  dump.run("BEGIN; SELECT now()");
  CHECK_FALSE(report());
  REQUIRE(
      desk.database.becomes_true("SELECT clock_timestamp() - xact_start > interval '5.1 s' FROM "
                                 "pg_stat_activity WHERE pid = " +
                                 std::to_string(dump.pid())));
  REQUIRE(report());
  CHECK(report()->pid == dump.pid());
  CHECK(report()->application == "dump");
  CHECK(report()->age > 5s);
  const auto findings = postgres::check(desk.database.url(), desk.target);
  const auto warns = [&](const postgres::Finding& finding) {
    return finding.severity == postgres::Finding::Severity::warning &&
           finding.what.find("pid " + std::to_string(dump.pid()) + " (dump") != std::string::npos;
  };
  CHECK(std::any_of(findings.begin(), findings.end(), warns));
  dump.run("COMMIT");
  CHECK_FALSE(report());
}

TEST_CASE("status, peek and why report the late rows that wait, as those that go out first") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"1", "2", "3"});
  const auto report = [&] { return desk.admin.status(desk.target).at(0); };
  CHECK(report().lane.state == LaneState::idle);
  CHECK(report().late_records == 0);
  desk.insert_at(50, "5 min");
  CHECK(report().lag_records == 1);
  CHECK(report().late_records == 1);
  CHECK(report().lag_age >= 5min);
  CHECK(report().lag_age < 6min);
  CHECK(report().lane.state == LaneState::running);
  desk.insert_at(40, "1 min");
  desk.insert_at(60, "20 min");  // behind the lookback: the audit's
  desk.insert(1);
  CHECK(report().lag_records == 3);
  CHECK(report().late_records == 2);
  CHECK(report().next_id == "50");

  const auto peeked = desk.admin.peek(desk.target, 0, 10).rows;
  Ids ids;
  for (const auto& row : peeked) ids.push_back(row.record.id());
  CHECK(ids == Ids{"50", "40", "4"});
  CHECK(peeked.at(1).record.late);
  CHECK(peeked.at(1).record.sequence == 5);
  CHECK(peeked.at(1).settled);
  CHECK_FALSE(peeked.at(2).record.late);
  CHECK(desk.admin.peek(desk.target, 0, 1).rows.size() == 1);

  const auto goes_out_late = [&](const std::string& id) {
    const auto row = desk.admin.why(desk.target, id);
    CHECK(row.state == postgres::RowReport::State::late);
    return *row.created_at_us >= *row.lane->late_from_us;
  };
  CHECK(goes_out_late("50"));
  CHECK_FALSE(goes_out_late("60"));

  desk.database.run("DELETE FROM bookings WHERE id = 60");
  REQUIRE(ids_of(relay.poll(1)) == Ids{"50"});  // started, it stays first, whatever turns up
  REQUIRE(relay.start());
  desk.insert_at(51, "6 min");
  CHECK(report().next_id == "50");
  CHECK(report().late_records == 3);
}

TEST_CASE("a row that was attempted comes first again, although an older late one turned up") {
  LateDesk desk;
  bool new_session = false;
  SUBCASE("the same session") {}
  SUBCASE("after a crash") {
    new_session = true;
  }
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  REQUIRE(ids_of(relay.poll(2)) == Ids{"2", "3"});
  REQUIRE(relay.start());
  CHECK(desk.planned() == "2,3");
  desk.insert_at(50, "5 min");
  desk.insert(1);
  if (new_session) {
    relay.session.reset();
    REQUIRE(desk.database.becomes_true("SELECT holder IS NULL FROM seriatim.lanes"));
    relay.holder = "next";
    relay.open();
    REQUIRE(relay.claim());
  }
  CHECK(ids_of(relay.poll(1)) == Ids{"2"});  // alone, as after a crash
  CHECK(relay.deliver(1) == Ids{"2"});
  CHECK(desk.planned() == "3");
  CHECK(relay.deliver() == Ids{"3"});
  Ids rest = relay.deliver();  // 50 is no part of it if no complete check is due yet
  if (rest == Ids{"4"}) rest.insert(rest.begin(), relay.deliver().at(0));
  CHECK(rest == Ids{"50", "4"});
  CHECK(desk.planned().empty());
  CHECK(desk.sound());
}

TEST_CASE("a batch that was begun goes out once, though late rows are not delivered any more") {
  LateDesk desk;
  std::string rows = "50";
  SUBCASE("late rows of a batch") {
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver().size() == 3);
    desk.insert_at(50, "1 min");
    REQUIRE(ids_of(relay.poll()) == Ids{"50"});
    REQUIRE(relay.start());
  }
  SUBCASE("a plan that an older version left behind") {
    rows = "2";
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver().size() == 3);
    desk.database.run(
        "INSERT INTO seriatim.aside (process_name, row_id, lane, state, begun) VALUES ('process', "
        "'2', 0, 'due', true)");
  }
  desk.target.source.late_rows = OnLateRow::halt;
  auto relay = desk.relay();
  REQUIRE(
      desk.database.becomes_true("SELECT holder IS NULL OR holder = 'relay' FROM seriatim.lanes"));
  REQUIRE(relay.claim());
  CHECK(relay.deliver() == Ids{rows});
  CHECK(desk.cursor("position_id") == "3");
  CHECK(relay.poll().records.empty());
  CHECK(desk.planned().empty());
}

TEST_CASE("a holder that was replaced leaves alone what its successor has begun") {
  LateDesk desk;
  auto old = desk.relay("old");
  REQUIRE(old.claim());
  REQUIRE(old.deliver().size() == 3);
  desk.database.run("UPDATE seriatim.cursor SET lease_until = now() - interval '1 s'");
  auto next = desk.relay("next");
  next.claim_in_the_end();
  desk.insert(2);
  REQUIRE(next.deliver() == Ids{"4", "5"});
  desk.database.run(  // late for `next`, ahead of the cursor that `old` knows
      "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE SELECT 50, "
      "created_at "
      "- interval '1 us', '{}' FROM bookings WHERE id = 4");
  REQUIRE(ids_of(next.poll()) == Ids{"50"});
  REQUIRE(next.start());
  (void)old.poll();
  CHECK(desk.planned() == "50");
}

TEST_CASE("a late row that fails is skipped without moving the cursor") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  desk.insert_at(50, "1 min");
  halt_at_next(relay);
  CHECK(desk.cursor("state, failed_id") == "halted|50");
  CHECK(desk.admin.skip(desk.target, "50", alice).at(0) ==
        "lane 0: skipped late row 50 (sequence 4)");
  CHECK(desk.cursor("position_id, sequence") == "3|4");
  REQUIRE(relay.claim());
  CHECK(relay.poll().records.empty());
  CHECK(desk.planned().empty());
}

TEST_CASE("late rows are counted where they belong, in closed buckets and the open one") {
  LateDesk desk;
  desk.database.run(
      "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE SELECT 1000 + i, "
      "clock_timestamp() - (500 - i) * interval '1 s', '{}' FROM generate_series(1, 200) AS i");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  while (!relay.deliver(16).empty()) {
  }
  REQUIRE(desk.cursor("sequence") == "203");
  for (int id = 50; id < 60; ++id) desk.insert_at(id, std::to_string((id - 49) * 45) + " s");
  for (int delivered = 0; delivered < 10;) {
    const auto rows = relay.deliver(3).size();
    REQUIRE(rows > 0);
    delivered += static_cast<int>(rows);
  }
  CHECK(desk.sound());
  CHECK(desk.database.value(
            "SELECT bool_and(rows = seriatim.ledger_rows(ids, ranges) AND rows = (SELECT count(*) "
            "FROM bookings AS "
            "b WHERE (l.from_at IS NULL OR (b.created_at, b.id) > (l.from_at, l.from_id::bigint)) "
            "AND (b.created_at, b.id) <= (l.to_at, l.to_id::bigint))) FROM seriatim.ledger AS l") ==
        "t");
}

TEST_CASE("no row leaves the window unlooked-at when the cursor leaps and the holder dies") {
  LateDesk desk;
  desk.target.source.lookback = 60s;
  desk.database.run("DELETE FROM bookings");
  desk.insert_at(10, "1 hour");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"10"});  // the cursor is an hour back …
  CHECK(relay.poll().records.empty());
  desk.insert_at(11, "0 s");
  REQUIRE(ids_of(relay.poll()) == Ids{"11"});
  REQUIRE(relay.start());
  desk.insert_at(12, "3630 s");  // … and these are within the lookback of it, as rows go
  desk.insert_at(13, "3625 s");
  const auto eleven = desk.database.value(
      "SELECT (extract(epoch FROM created_at) * 1000000)::bigint FROM bookings WHERE id = 11");
  REQUIRE(relay.settle({relay.cursor.position, {{std::stoll(eleven), "11"}}, {}, Rest{}}));
  relay.session.reset();
  REQUIRE(desk.database.becomes_true("SELECT holder IS NULL FROM seriatim.lanes"));
  auto next = desk.relay("next");
  REQUIRE(next.claim());
  CHECK(next.deliver(1) == Ids{"12"});  // one found of two is no complete check
  CHECK(ids_and_late(next.poll(1)) == Seen{{"13", true}});
}

TEST_CASE("what was delivered before there was a ledger is not delivered again") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  desk.database.run(
      "UPDATE seriatim.cursor SET bucket_at = position_at, bucket_id = position_id, bucket_ids = "
      "'{}', bucket_ranges = '{}', ledger_start = sequence");
  CHECK(relay.poll().records.empty());
}

TEST_CASE("check accepts any clock where late rows are delivered, and names that way where not") {
  LateDesk desk;
  for (const char* change :
       {"SET DEFAULT now()", "SET DEFAULT CURRENT_TIMESTAMP", "DROP DEFAULT"}) {
    CAPTURE(change);
    desk.database.run(std::string("ALTER TABLE bookings ALTER COLUMN created_at ") + change);
    desk.target.source.late_rows = OnLateRow::deliver;
    CHECK(postgres::refusals(postgres::check(desk.database.url(), desk.target)).empty());
    desk.target.source.late_rows = OnLateRow::halt;
    const auto refusals = postgres::refusals(postgres::check(desk.database.url(), desk.target));
    CHECK(contains(refusals, "clock_timestamp()"));
    CHECK(contains(refusals, "order_by = \"id\""));
    CHECK(contains(refusals, "late_rows = \"deliver\""));
  }
  desk.target.source.late_rows = OnLateRow::deliver;
  desk.database.run("ALTER TABLE bookings ALTER COLUMN created_at DROP NOT NULL");
  CHECK_FALSE(postgres::refusals(postgres::check(desk.database.url(), desk.target)).empty());
}

TEST_CASE("a rewind by more than the lookback delivers again, with the holder running on") {
  LateDesk desk;
  desk.target.source.lookback = 1min;
  desk.insert_at(50, "2 h");
  desk.insert_at(40, "1 h");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver() == Ids{"50", "40", "1", "2", "3"});
  REQUIRE(relay.poll().records.empty());
  desk.admin.rewind(desk.target, {postgres::RewindPlace::Kind::start, {}}, alice);
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"50"});
  TestAuditor(desk.database, desk.target.source).session->check_all([] { return false; });
  REQUIRE_FALSE(halted(desk.database));
  REQUIRE(ids_and_late(relay.poll()).at(0) == Seen::value_type{"40", false});
  CHECK(relay.deliver() == Ids{"40", "1", "2", "3"});
  CHECK(desk.sound());
}

TEST_CASE("the first batch of all is finished first too, once it was started") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(ids_of(relay.poll()) == Ids{"1", "2", "3"});
  REQUIRE(relay.start());
  desk.insert_at(50, "5 min");  // an older one, while nothing was delivered yet
  CHECK(ids_and_late(relay.poll()) == Seen{{"1", false}, {"2", false}, {"3", false}});
  CHECK(relay.deliver() == Ids{"1", "2", "3"});
  CHECK(ids_and_late(relay.poll()) == Seen{{"50", true}});
}

TEST_CASE("a batch started by a session given up, rows of which went out since, is refused") {
  LateDesk desk;
  auto given_up = desk.relay();
  REQUIRE(given_up.claim());
  REQUIRE(ids_of(given_up.poll()) == Ids{"1", "2", "3"});
  auto relay = desk.relay();  // the same holder, in another session
  REQUIRE(relay.claim());
  REQUIRE(relay.cursor.epoch > given_up.cursor.epoch);
  SUBCASE("all of them") {
    REQUIRE(relay.deliver() == Ids{"1", "2", "3"});
  }
  SUBCASE("or are in flight") {
    desk.insert_at(50, "5 min");
    REQUIRE(ids_of(relay.poll(1)) == Ids{"50"});
    REQUIRE(relay.start());
  }
  const auto planned = desk.planned();
  CHECK_FALSE(given_up.start());
  CHECK(desk.planned() == planned);
}

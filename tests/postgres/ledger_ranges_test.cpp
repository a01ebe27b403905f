// The ledger notes consecutive integers as ranges, and lists all other ids.
#include <doctest/doctest.h>

#include "postgres/admin/reports/row_report.hpp"
#include "postgres/desk.hpp"
#include "postgres/pruned_desk.hpp"
#include "postgres/store/noted_ids.hpp"
#include "postgres/test_auditor.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::noted_ids;
using postgres::RewindPlace;
using std::chrono::milliseconds;

namespace {

constexpr const char* as_big_as_they_are =
    "DROP TRIGGER \"later than cursor_keep\" ON seriatim.cursor";

struct Ranged : Desk {
  explicit Ranged(OrderBy order = OrderBy::created_at) : Desk(order) {
    target.source.insert_latency = milliseconds{0};
  }

  void insert_up_to(int last) {
    database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(1, " +
                 std::to_string(last) + " - (SELECT max(id) FROM bookings))");
  }
  std::string bucket() { return cursor("bucket_ids, bucket_ranges"); }
  std::string closed() {
    return database.value(
        "SELECT string_agg(concat_ws('|', number, rows, ids, ranges), ' ' ORDER BY number) FROM "
        "seriatim.ledger");
  }
  /// As a relay of before the ranges left it: rows 1 to 3 are listed.
  void mixed(int last) {
    auto lane = relay();
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver(3).size() == 3);
    database.run("UPDATE seriatim.cursor SET bucket_ids = '{1,2,3}', bucket_ranges = '{}'");
    lane.session->release(lane.cursor.epoch, false);
    insert_up_to(last);
    auto next = relay("newer");
    REQUIRE(next.claim());
    while (!next.deliver().empty()) {
    }
    next.session->release(next.cursor.epoch, false);
  }
  postgres::LaneAudit audit() {
    return admin.audit(target, true, [](std::uint64_t) {}).front();
  }
  std::optional<Halted> first_pass() { return audit_fully(database, target.source); }
};

std::string shown(const postgres::NotedIds& noted) {
  std::string text;
  for (const auto& id : noted.listed) text += id + ' ';
  return text + noted.ranges;
}

}  // namespace

TEST_CASE("consecutive integers become ranges, all others are listed") {
  CHECK(shown(noted_ids({"1", "2", "3"}, true)) == "{[1,4)}");
  CHECK(shown(noted_ids({"3", "1", "2"}, true)) == "{[1,4)}");
  CHECK(shown(noted_ids({"1", "2", "5", "7", "8"}, true)) == "5 {[1,3),[7,9)}");
  CHECK(shown(noted_ids({"5"}, true)) == "5 {}");
  CHECK(shown(noted_ids({"5"}, true, "4")) == "{[5,6)}");
  CHECK(shown(noted_ids({"-1", "0", "1"}, true)) == "{[-1,2)}");
  CHECK(shown(noted_ids({"7", "7", "8"}, true)) == "7 {[7,9)}");
  CHECK(shown(noted_ids({"1", "2"}, false)) == "1 2 {}");
  CHECK(shown(noted_ids({"9223372036854775805", "9223372036854775806", "9223372036854775807"},
                        true)) ==
        "9223372036854775807 {[9223372036854775805,9223372036854775807)}");
}

TEST_CASE("only what PostgreSQL would write as an integer is taken for one") {
  CHECK(postgres::ranges_of({"7", "-7", "0", "07", "-0", "+7", "7a", "", "9223372036854775807"}) ==
        "{[7,8),[-7,-6),[0,1)}");
}

TEST_CASE("ranges merge over commits of one row, and a gap splits them") {
  BOTH_ORDERS
  Ranged desk(order);
  desk.insert_up_to(8);
  desk.database.run("DELETE FROM bookings WHERE id = 6");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  for (int i = 0; i < 7; ++i) REQUIRE(relay.deliver(1).size() == 1);
  CHECK(desk.bucket() == "{1,7}|{[2,6),[8,9)}");
  desk.insert_up_to(20);
  desk.database.run("DELETE FROM bookings WHERE id = 12");
  while (!relay.deliver().empty()) {
  }
  CHECK(desk.bucket() == "{1,7}|{[2,6),[8,12),[13,21)}");
  CHECK(desk.audit().sound());
}

TEST_CASE("a bucket is full at 1 000 rows, and its hash waits until it is read") {
  Ranged desk(OrderBy::id);
  desk.database.run(as_big_as_they_are);
  desk.insert_up_to(1050);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(999).size() == 999);
  CHECK(desk.closed().empty());
  REQUIRE(relay.deliver(1).size() == 1);
  CHECK(desk.closed() == "1000|1000|{}|{[1,1001)}");
  REQUIRE(relay.deliver().size() == 50);
  CHECK(desk.bucket() == "{}|{[1001,1051)}");
  CHECK(desk.database.value("SELECT hash IS NULL FROM seriatim.ledger") == "t");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.hash == std::stoll(desk.database.value(
                          "SELECT bit_xor(hashtextextended(id::text, 0)) FROM bookings")));
}

TEST_CASE("a bucket is full at 64 listed ids or 64 ranges") {
  Ranged desk(OrderBy::id);
  desk.database.run(as_big_as_they_are);
  std::string kept;
  int before = 0;
  SUBCASE("listed") {
    kept = "id % 2 = 0";
    before = 63;
  }
  SUBCASE("ranges") {
    kept = "id % 3 > 0";
    before = 126;
  }
  desk.insert_up_to(300);
  desk.database.run("DELETE FROM bookings WHERE NOT " + kept);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(static_cast<unsigned>(before)).size() == static_cast<std::size_t>(before));
  CHECK(desk.closed().empty());
  REQUIRE(relay.deliver(2).size() == 2);
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.ledger") == "1");
  CHECK(desk.audit().sound());
}

TEST_CASE("ids so far apart that their distance is no bigint are counted") {
  Ranged desk(OrderBy::id);
  desk.database.run("DELETE FROM bookings");
  desk.database.run(std::string(behind) +
                    "SELECT n, now(), '{}' FROM unnest('{-9223372036854775808, "
                    "-9223372036854775807, 9223372036854775805, 9223372036854775806, "
                    "9223372036854775807}'::bigint[]) n");
  auto relay = desk.relay();
  desk.database.run("SELECT setval('bookings_id_seq', 9223372036854775807)");
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 5);
  CHECK(desk.bucket() ==
        "{9223372036854775807}|{[-9223372036854775808,-9223372036854775806),"
        "[9223372036854775805,9223372036854775807)}");
  CHECK(desk.audit().sound());
}

TEST_CASE("ids that are no integers are listed") {
  std::string type = "text";
  SUBCASE("text, though it could be integers") {}
  SUBCASE("uuid") {
    type = "uuid";
  }
  TestDatabase database;
  database.run("CREATE TABLE named (id " + type + " PRIMARY KEY, " + stamped + ", payload json)");
  database.run("INSERT INTO named (id, payload) SELECT (CASE WHEN '" + type +
               "' = 'uuid' THEN '00000000-0000-0000-0000-00000000000' ELSE '' END || n)::" + type +
               ", '{}' FROM generate_series(1, 5) n");
  Opened opened(database, table("named"));
  REQUIRE(opened.lane.deliver().size() == 5);
  CHECK(database.value("SELECT concat_ws('|', cardinality(bucket_ids), bucket_ranges) FROM "
                       "seriatim.cursor") == "5|{}");
}

TEST_CASE("a bucket of a list and a range is audited as one") {
  BOTH_ORDERS
  Ranged desk(order);
  desk.mixed(30);
  CHECK(desk.bucket() == "{1,2,3}|{[4,31)}");
  CHECK(desk.audit().sound());
  CHECK_FALSE(desk.first_pass());
  desk.database.run("DELETE FROM bookings WHERE id IN (2, 20)");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.gone == 2);
  CHECK(desk.admin.why(desk.target, "20").state == postgres::RowReport::State::delivered);
  CHECK(desk.admin.why(desk.target, "2").state == postgres::RowReport::State::delivered);
}

TEST_CASE("a late row in the gap of a range is found, one filled in again is not late") {
  BOTH_ORDERS
  for (const int rows : {40, 200}) {  // in the open bucket, in a closed one
    CAPTURE(rows);
    Ranged desk(order);
    desk.insert_up_to(rows);
    const auto at = [&](const std::string& id) {
      return desk.database.value("SELECT created_at FROM bookings WHERE id = " + id);
    };
    const auto gap = at("20");
    const auto deleted = at("22");
    desk.database.run("DELETE FROM bookings WHERE id = 20");
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    while (!relay.deliver().empty()) {
    }
    desk.database.run("DELETE FROM bookings WHERE id = 22");
    desk.database.run(behind + ("VALUES (22, '" + deleted + "', '{}')"));
    CHECK_FALSE(desk.first_pass());
    CHECK(desk.audit().sound());
    desk.database.run(behind + ("VALUES (20, '" + gap + "', '{}')"));
    const auto found = desk.first_pass();
    REQUIRE(found);
    CHECK(found->row_id == "20");
    CHECK(desk.audit().late_rows == 1);
  }
}

TEST_CASE("a lane is rewound into the middle of a range, and jumps forwards out of it") {
  BOTH_ORDERS
  for (const int rows : {40, 200}) {  // of the open bucket, of a closed one
    CAPTURE(rows);
    Ranged desk(order);
    desk.mixed(rows);
    REQUIRE(desk.closed().empty() == (rows == 40));
    desk.admin.rewind(desk.target, {RewindPlace::Kind::row, "9"}, alice);
    CHECK(desk.bucket() == "{}|{[1,9)}");
    CHECK(desk.cursor(
              "sequence, bucket_newest_at = (SELECT created_at FROM bookings WHERE id = 8)") ==
          "8|t");
    CHECK(desk.audit().sound());
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver(2) == Ids{"9", "10"});
    CHECK(desk.audit().sound());
    desk.admin.rewind(desk.target, {RewindPlace::Kind::end, {}}, alice);
    CHECK(desk.bucket() == "{}|{}");
    CHECK(desk.audit().sound());
    CHECK_FALSE(desk.first_pass());
  }
}

TEST_CASE("a list and a range are cut with the lanes") {
  BOTH_ORDERS
  Ranged desk(order);
  desk.target.source.key = "customer";
  desk.mixed(30);
  desk.admin.repartition(desk.target, 2, alice, [](const std::string&) { return true; });
  CHECK(desk.closed() == "30|30|{1,2,3}|{[4,31)}");
  CHECK(desk.database.value("SELECT bool_and(bucket_ranges = '{}') FROM seriatim.cursor") == "t");
  desk.target.process.lanes = 2;
  for (const auto& lane : desk.admin.audit(desk.target, true, [](std::uint64_t) {})) {
    CHECK(lane.sound());
  }
}

TEST_CASE("rows of a list and of a range are pruned, and leave the bucket that counts them") {
  BOTH_ORDERS
  Ranged desk(order);
  desk.mixed(30);
  const auto pruned = postgres::prune(desk.database.url(), {desk.target}, everything(), alice,
                                      [](std::uint64_t, microseconds) { return true; });
  REQUIRE(pruned.size() == 1);
  CHECK(pruned.front().late == 0);
  const auto audit = desk.audit();
  CHECK(audit.pruned == pruned.front().rows);
  CHECK(audit.rows + audit.pruned == 30);
  CHECK(audit.sound());
  CHECK(audit.gone == 0);
}

TEST_CASE("a bucket keeps the newest created_at it delivered") {
  Ranged desk(OrderBy::id);
  desk.database.run(
      "UPDATE bookings SET created_at = ('2026-03-0' || 4 - id || ' 00:00Z')::timestamptz");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(2).size() == 2);
  REQUIRE(relay.deliver(1).size() == 1);
  CHECK(desk.cursor("bucket_newest_at = '2026-03-03Z'") == "t");
  desk.insert_up_to(100);
  REQUIRE(relay.deliver().size() == 97);
  CHECK(desk.cursor("bucket_newest_at IS NULL") == "t");
  CHECK(desk.database.value("SELECT newest_at = (SELECT max(created_at) FROM bookings) FROM "
                            "seriatim.ledger") == "t");
}

TEST_CASE("of a bucket that was begun without its newest created_at none is reported") {
  Ranged desk(OrderBy::id);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(2).size() == 2);
  desk.database.run("UPDATE seriatim.cursor SET bucket_newest_at = NULL");
  REQUIRE(relay.deliver(1).size() == 1);
  CHECK(desk.cursor("bucket_newest_at IS NULL") == "t");
}

TEST_CASE("a row that comes a second time is counted a second time") {
  Ranged desk;
  desk.insert_up_to(5);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 5);
  desk.database.run("UPDATE bookings SET created_at = clock_timestamp() WHERE id IN (3, 4)");
  REQUIRE(relay.deliver() == Ids{"3", "4"});
  CHECK(desk.bucket() == "{3,4}|{[1,6)}");
  CHECK(desk.cursor("sequence") == "7");
  CHECK(desk.audit().sound());
}

TEST_CASE("a row that is in another bucket than the range that notes it is not late") {
  Ranged desk;
  desk.insert_up_to(200);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  while (!relay.deliver().empty()) {
  }
  desk.database.run(
      "UPDATE bookings SET created_at = (SELECT created_at FROM bookings WHERE id = 5) WHERE id IN "
      "(150, 199)");
  CHECK_FALSE(desk.first_pass());
  CHECK(desk.audit().sound());
}

TEST_CASE("rows noted as integers are not late when their ids have become text") {
  Ranged desk;
  desk.database.run(as_big_as_they_are);
  desk.insert_up_to(1100);  // more than late rows are counted
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1100).size() == 1100);
  relay.session.reset();
  desk.database.run(
      "ALTER TABLE bookings ALTER id DROP IDENTITY; ALTER TABLE bookings ALTER id TYPE text");
  CHECK(desk.audit().sound());
  desk.database.run(
      "INSERT INTO bookings (id, created_at) SELECT '07', max(created_at) - interval '1 us' FROM "
      "bookings");
  CHECK(desk.audit().late_rows == 1);
}

TEST_CASE("a late row that is set aside in a sealed bucket leaves it sealed") {
  Ranged desk;
  desk.insert_up_to(100);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  while (!relay.deliver().empty()) {
  }
  REQUIRE(desk.closed() != "");
  desk.database.run(
      "UPDATE seriatim.ledger SET hash = seriatim.ledger_hash(ids, ranges), ids = NULL, ranges = "
      "NULL");
  desk.database.run(behind + std::string("VALUES (-7, '2020-01-01Z', '{}')"));
  REQUIRE(
      relay.settle({relay.cursor.position, {}, {}, Halt{HaltReason::late_row, {"-7", "late"}}}));
  desk.admin.skip(desk.target, "-7", alice);
  CHECK(desk.database.value("SELECT bool_and(ids IS NULL AND ranges IS NULL) FROM "
                            "seriatim.ledger") == "t");
  CHECK(desk.audit().sound());
}

TEST_CASE("a program older than the schema may change no cursor, and hears why") {
  Ranged desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(2).size() == 2);
  auto older = desk.database.connect("older");
  const std::string update = "UPDATE seriatim.cursor SET updated_at = updated_at";
  REQUIRE_NOTHROW(older.run(update));
  for (const auto& knows : {"RESET seriatim.knows_schema", "SET seriatim.knows_schema = '14'"}) {
    older.run(knows);
    for (const std::string more :
         {"", ", epoch = epoch + 1, holder = 'old:1'", ", sequence = 1, epoch = epoch + 1",
          ", lease_until = clock_timestamp()", ", holder = NULL"}) {
      CAPTURE(more);
      CHECK_THROWS_WITH(older.run(update + more), doctest::Contains("older than the database"));
    }
  }
  CHECK(relay.deliver(1).size() == 1);
}

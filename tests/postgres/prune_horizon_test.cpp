// The horizon of `prune`: what lies below it may be deleted, and the audit begins there.
#include <doctest/doctest.h>

#include "postgres/admin/migrate.hpp"
#include "postgres/pruned_desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::RewindPlace;

namespace {

bool stop(std::uint64_t, microseconds) {
  return false;
}

PruneChoice in_batches_of(unsigned rows) {
  auto choice = everything();
  choice.batch_rows = rows;
  return choice;
}

std::string late_id(OrderBy order) {
  return order == OrderBy::id ? "-7" : "1000";
}

}  // namespace

TEST_CASE("a prune that was broken off is gone on with, and a late row that came meanwhile stays") {
  BOTH_ORDERS
  Delivered desk(order);
  CHECK(desk.prune(in_batches_of(50), stop).rows == 50);
  CHECK(desk.audit().sound());
  desk.insert_late(late_id(order), "60", "0");
  const auto report = desk.prune();
  CHECK(report.rows == 249);
  CHECK(report.late_ids == Ids{late_id(order)});
  CHECK(desk.count() == "2");
  const auto audit = desk.audit();
  CHECK(audit.late_rows == 1);
  CHECK(audit.late.at(0).id == late_id(order));
  CHECK(audit.pruned == 299);
}

TEST_CASE("the relay finds a late row below the horizon too") {
  BOTH_ORDERS
  Delivered desk(order);
  CHECK(desk.prune().rows == 299);
  desk.insert_late(late_id(order), "300", "-1 s");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  const auto round = relay.poll();
  REQUIRE(round.unreadable);
  CHECK(round.unreadable->row_id == late_id(order));
}

TEST_CASE("sealed rows above the horizon are neither late nor delivered again") {
  for (const auto late_rows : {OnLateRow::halt, OnLateRow::deliver}) {
    Delivered desk;
    desk.deliver("second", 100);
    desk.seal();
    CHECK(desk.prune().rows == 99);
    desk.target.source.late_rows = late_rows;
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    const auto round = relay.poll();
    CHECK(round.records.empty());
    CHECK_FALSE(round.unreadable);
    desk.target.source.audit_window = milliseconds{0};
    auto sealer = desk.relay("sealer");
    relay.session->release(relay.cursor.epoch, false);
    REQUIRE(sealer.claim());
    CHECK(sealer.poll().records.empty());
    CHECK(desk.audit().sound());
    CHECK(desk.database.value("SELECT ids FROM seriatim.ledger WHERE gone IS NOT NULL AND "
                              "process_name = 'process'") != "");
  }
}

TEST_CASE("rows that others delete before a prune passes are told apart from those after") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.database.run("DELETE FROM bookings WHERE id IN (5, 70, 71)");
  CHECK(desk.audit().gone == 3);
  CHECK(desk.prune(in_batches_of(100), stop).rows == 100);
  desk.database.run("DELETE FROM bookings WHERE id = 200");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.rows == 300);
  CHECK(audit.gone == 3);
  CHECK(audit.pruned == 101);
  REQUIRE(audit.pruned_up_to);
  CHECK(audit.pruned_up_to->id == "299");
}

TEST_CASE("a row that stays below the horizon is still known as delivered once nothing holds it") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.database.run(
      "INSERT INTO seriatim.parked (process_name, row_id, lane, position_at, holds_key, head)"
      " SELECT 'process', '17', 0, created_at, false, true FROM bookings WHERE id = 17");
  CHECK(desk.prune().rows == 298);
  desk.database.run("DELETE FROM seriatim.parked");
  CHECK(desk.audit().sound());
  CHECK(desk.prune().rows == 1);
  CHECK(desk.left() == "300");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.pruned == 299);
}

TEST_CASE("a row that is late for one process only stays, whoever else delivered it") {
  Delivered desk;
  auto by_id = desk.another("by_id");
  by_id.source.order_by = OrderBy::id;
  TestLane relay(desk.database, by_id.source, "relay", {"by_id", 0, 1});
  REQUIRE(relay.claim());
  while (!relay.deliver().empty()) {
  }
  desk.targets.push_back(by_id);
  desk.insert_late("1000", "60", "1 us");
  desk.insert_late("1001", "300", "1 us");
  CHECK(relay.deliver() == Ids{"1000", "1001"});
  const auto report = desk.prune();
  CHECK(report.late_ids == Ids{"1000"});
  CHECK(report.rows == 299);
  CHECK(desk.audit().late_rows == 1);
  CHECK(desk.audit(by_id).sound());
}

TEST_CASE("a sealed bucket larger than what is judged at once is passed in parts") {
  BOTH_ORDERS
  Desk desk(order);
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 25000)");
  TestLane(desk.database, desk.target.source).claim();
  desk.admin.rewind(desk.target, {RewindPlace::Kind::end, {}}, alice);
  desk.database.run(
      "DELETE FROM seriatim.ledger WHERE number < 25000;"
      "UPDATE seriatim.ledger SET ids = NULL, ranges = NULL, from_at = NULL, from_id = NULL,"
      "  rows = 25000, hash = (SELECT bit_xor(hashtextextended(id::text, 0)) FROM bookings)");
  REQUIRE(desk.admin.audit(desk.target, true, [](std::uint64_t) {}).front().sound());
  const auto report =
      postgres::prune(desk.database.url(), {desk.target}, everything(), alice, go_on).front();
  CHECK(report.rows == 24'999);
  const auto audit = desk.admin.audit(desk.target, true, [](std::uint64_t) {}).front();
  CHECK(audit.sound());
  CHECK(audit.rows == 25'000);
  CHECK(audit.pruned == 24'999);
  CHECK(audit.bucket_count <= 3);
}

TEST_CASE("lanes that were cut anew are pruned as they were cut then") {
  BOTH_ORDERS
  Delivered desk(order, "customer");
  const auto yes = [](const std::string&) { return true; };
  desk.admin.recut(desk.target, 3, alice, yes);
  desk.database.run(
      "INSERT INTO bookings (customer, payload) SELECT n, '{}' FROM generate_series(301, 500) n");
  for (unsigned lane = 0; lane < 3; ++lane) desk.deliver("process", 200, {"", lane, 3});
  desk.admin.recut(desk.target, 2, alice, yes);
  desk.target.process.lanes = desk.targets.front().process.lanes = 2;
  desk.database.run(
      "INSERT INTO bookings (customer, payload) SELECT n, '{}' FROM generate_series(501, 600) n");
  for (unsigned lane = 0; lane < 2; ++lane) desk.deliver("process", 100, {"", lane, 2});
  const auto judge = [&](std::uint64_t pruned) {
    std::uint64_t told = 0;
    std::uint64_t rows = 0;
    for (const auto& lane : desk.admin.audit(desk.target, true, [](std::uint64_t) {})) {
      CAPTURE(lane.lane);
      CHECK(lane.sound());
      CHECK(lane.gone == 0);
      told += lane.pruned;
      rows += lane.rows;
    }
    CHECK(told == pruned);
    CHECK(rows == 600);
  };
  judge(0);
  CHECK(desk.prune(everything(), stop).rows == 100);
  judge(100);
  const auto rest = desk.prune().rows;
  CHECK(rest > 450);
  judge(100 + rest);
  CHECK(desk.count() == std::to_string(500 - rest));
}

TEST_CASE("a rewind while a prune goes on is not pruned away") {
  BOTH_ORDERS
  Delivered desk(order);
  const auto report = desk.prune(in_batches_of(50), [&](std::uint64_t rows, microseconds) {
    if (rows == 100) desk.admin.rewind(desk.target, {RewindPlace::Kind::row, "151"}, alice);
    return true;
  });
  CHECK(report.rows == 149);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  CHECK(relay.deliver(3) == Ids{"151", "152", "153"});
  CHECK(desk.audit().sound());
}

TEST_CASE("half-pruned buckets of an older version are sound after the upgrade") {
  BOTH_ORDERS
  for (const bool sealed : {false, true}) {
    CAPTURE(sealed);
    Delivered desk(order);
    desk.deliver("second", 300);
    if (sealed) desk.seal();
    desk.database.run(  // what prune of schema version 13 left: rows up to 99 pruned, 70 deleted
                        // before
        "ALTER TABLE seriatim.ledger DROP COLUMN pruned, DROP COLUMN gone,"
        " ADD COLUMN pruned_rows bigint NOT NULL DEFAULT 0,"
        " ADD COLUMN pruned_hash bigint NOT NULL DEFAULT 0;"
        "DELETE FROM seriatim.migration WHERE version = 15;"
        "DELETE FROM bookings WHERE id = 70;"
        "WITH pruned AS (DELETE FROM bookings WHERE id < 100 RETURNING id)"
        " UPDATE seriatim.ledger AS l SET (pruned_rows, pruned_hash) ="
        "  (SELECT count(*), coalesce(bit_xor(hashtextextended(p.id::text, 0)), 0) FROM pruned AS p"
        "   WHERE p.id > coalesce(l.from_id::bigint, 0) AND p.id <= l.to_id::bigint)");
    REQUIRE(postgres::migrate(desk.database.url()).size() == 1);
    const auto audit = desk.audit();
    CHECK(audit.sound());
    CHECK(audit.rows == 300);
    CHECK(audit.pruned + audit.gone == 99);
    CHECK(audit.gone == (sealed ? 1 : 0));
    if (sealed && order == OrderBy::created_at) {
      desk.database.run("DELETE FROM bookings WHERE id = 103");
      desk.insert_late("1000", "102", "1 us");
      desk.insert_late("1001", "102", "1 us");
      CHECK(desk.audit().mismatches == 1);
      desk.database.run("DELETE FROM bookings WHERE id >= 1000");
    } else if (!sealed) {
      desk.insert_late(late_id(order), "100", "-1 s");
      CHECK(desk.audit().late_rows == 1);
      desk.database.run("DELETE FROM bookings WHERE id = " + late_id(order));
    }
    desk.targets.push_back(desk.another("second"));
    CHECK(desk.prune().sound());
    CHECK(desk.left() == "300");
    CHECK(desk.audit().sound());
    CHECK(desk.audit().rows == 300);
    CHECK(desk.audit(desk.another("second")).sound());
  }
}

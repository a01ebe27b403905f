// What was pruned leaves the ledger, and at or below the horizon a row is late.
#include <doctest/doctest.h>

#include "postgres/least_role.hpp"
#include "postgres/pruned_desk.hpp"
#include "postgres/shop.hpp"
#include "postgres/test_auditor.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

/// 300 rows delivered, 299 of them pruned.
struct Pruned : Delivered {
  explicit Pruned(OrderBy order = OrderBy::created_at, const std::string& key = {})
      : Delivered(order, key) {
    REQUIRE(prune().rows == 299);
  }
  [[nodiscard]] std::string horizon() {
    return database.value(
        "SELECT string_agg(concat(lane, ':', id), ' ' ORDER BY lane) FROM "
        "seriatim.horizon");
  }
  [[nodiscard]] std::string oldest_bucket() {
    return database.value("SELECT from_id FROM seriatim.ledger ORDER BY number LIMIT 1");
  }
  /// A row that was not there when the others were pruned.
  void insert_below() {
    database.run(
        "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE "
        "SELECT 7, created_at - interval '1 hour', '{}' FROM bookings WHERE id = 300");
  }
};

}  // namespace

TEST_CASE("the oldest buckets go with their last row, and the audit begins at the horizon") {
  BOTH_ORDERS
  Pruned desk(order);
  const auto end = desk.oldest_bucket();
  CHECK(std::stoi(end) > 200);
  CHECK(desk.horizon() == "0:" + end);
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.rows == 1);
  CHECK(audit.pruned == 299);
  REQUIRE(audit.horizon);
  CHECK(audit.horizon->id == end);
  desk.insert(3);
  desk.deliver("process", 3);
  CHECK(desk.audit().sound());
  CHECK(desk.prune().rows == 3);
  CHECK(desk.audit().sound());
  CHECK(desk.audit().pruned == 302);
}

TEST_CASE("a row below the horizon is late: audit, the auditor, why and prune say so") {
  BOTH_ORDERS
  Pruned desk(order);
  desk.insert_below();
  const auto audit = desk.audit();
  CHECK_FALSE(audit.sound());
  CHECK(audit.late_rows == 1);
  REQUIRE(audit.late.size() == 1);
  CHECK(audit.late.front().id == "7");
  CHECK(desk.admin.why(desk.target, "7").state == postgres::RowReport::State::late);
  const auto report = desk.prune();
  CHECK(report.rows == 0);
  CHECK(report.late == 1);
  CHECK(desk.database.value("SELECT count(*) FROM bookings WHERE id = 7") == "1");
  const auto found = audit_fully(desk.database, desk.target.source);
  REQUIRE(found);
  CHECK(found->reason == "LATE_ROW");
  CHECK(found->row_id == "7");
}

TEST_CASE("a row below the horizon that is skipped is accounted for, and pruned in its turn") {
  BOTH_ORDERS
  Pruned desk(order);
  desk.insert_below();
  REQUIRE(audit_fully(desk.database, desk.target.source));
  CHECK(desk.admin.skip(desk.target, "7", alice).size() == 1);
  CHECK(desk.audit().sound());
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.horizon WHERE id IS NOT NULL") == "0");
  SUBCASE("by its id") {}
  SUBCASE("by count and hash") {
    desk.seal();
    CHECK(desk.audit().sound());
  }
  CHECK_FALSE(audit_fully(desk.database, desk.target.source));
  SUBCASE("another one there is late all the same") {
    desk.database.run(
        "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE "
        "SELECT 8, created_at - interval '30 min', '{}' FROM bookings WHERE id = 300");
    CHECK(desk.prune().late == 1);
    return;
  }
  CHECK(desk.prune().rows == 1);
  CHECK(desk.database.value("SELECT count(*) FROM bookings") == "1");
  CHECK(desk.horizon() == "0:" + desk.oldest_bucket());
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.pruned == 300);
}

TEST_CASE("the horizon stays below a row that was not delivered") {
  BOTH_ORDERS
  Delivered desk(order);
  const auto id = order == OrderBy::id ? "-7" : "1000";
  desk.database.run(
      std::string(
          "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE SELECT ") +
      id + ", created_at - interval '1 us', '{}' FROM bookings WHERE id = 1");
  const auto report = desk.prune();
  CHECK(report.late == 1);
  CHECK(report.rows == 299);
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.horizon WHERE id IS NOT NULL") == "0");
  const auto audit = desk.audit();
  CHECK(audit.late_rows == 1);
  CHECK(audit.pruned == 299);
}

TEST_CASE("the horizon stays below a parked row, which is handed over again and then pruned") {
  Shop shop(OnPoison::dead_letter);
  shop.book(Ids(200, "b"));
  shop.refused = {"3"};
  REQUIRE(shop.drain().size() == 199);
  REQUIRE(shop.parked() == Ids{"3"});
  const auto prune = [&] {
    return postgres::prune(shop.database.url(), {shop.target}, everything(), alice, go_on).front();
  };
  CHECK(prune().rows == 198);
  CHECK(shop.database.value("SELECT count(*) FROM seriatim.horizon WHERE id IS NOT NULL") == "0");
  CHECK(shop.audit_is_sound());
  shop.refused.clear();
  REQUIRE(shop.admin.redrive(shop.target, {.id = "3"}, alice).size() == 1);
  CHECK(shop.drain() == Ids{"3"});
  CHECK(shop.audit_is_sound());
  CHECK(prune().rows == 1);
  CHECK(shop.database.value("SELECT count(*) FROM seriatim.horizon WHERE id IS NOT NULL") == "1");
  CHECK(shop.audit_is_sound());
}

TEST_CASE("with late_rows = deliver the horizon stays below the lookback") {
  Delivered desk;
  desk.targets[0].source.late_rows = OnLateRow::deliver;
  desk.database.run("DELETE FROM bookings");
  CHECK(desk.prune().rows == 0);
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.horizon WHERE id IS NOT NULL") == "0");
  desk.targets[0].source.lookback = milliseconds{0};
  desk.prune();
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.horizon WHERE id IS NOT NULL") == "1");
}

TEST_CASE("a rewind to before the horizon gives it up, and what comes there is delivered") {
  BOTH_ORDERS
  Pruned desk(order);
  const auto steps =
      desk.admin.rewind(desk.target, {postgres::RewindPlace::Kind::start, {}}, alice);
  CHECK(steps.at(0).pruned == 299);
  CHECK(steps.at(0).rows == 1);
  desk.insert_below();
  CHECK(desk.audit().sound());
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  CHECK(relay.cursor.sequence == 299);
  CHECK(relay.deliver(3) == Ids{"7", "300"});
  relay.session->release(relay.cursor.epoch, false);
  CHECK(desk.audit().sound());
  CHECK(desk.prune().rows == 1);
  CHECK(desk.audit().sound());
}

TEST_CASE("a process without a cursor whose ledger was pruned does not begin anew") {
  Pruned desk;
  desk.database.run("DELETE FROM seriatim.ledger");
  desk.database.run("DELETE FROM seriatim.cursor");
  desk.database.run("DELETE FROM seriatim.journal");
  const auto lanes = desk.admin.status(desk.target);
  REQUIRE(lanes.size() == 1);
  CHECK(contains(lanes[0].lane.detail, "seriatim.ledger notes rows it delivered"));
}

TEST_CASE("a process that is renamed keeps its horizon") {
  Pruned desk;
  const auto horizon = desk.horizon();
  desk.target.process.name = "renamed";
  REQUIRE(desk.admin.adopt(desk.target, "process", alice).size() == 1);
  CHECK(desk.horizon() == horizon);
  CHECK(desk.audit().sound());
  CHECK(desk.audit().pruned == 299);
}

TEST_CASE("what is noted of rows that were passed over goes with their buckets") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.insert(5);
  desk.admin.rewind(desk.target, {postgres::RewindPlace::Kind::end, {}}, alice);
  const auto passed_over = "SELECT coalesce(sum(cardinality(ids)), 0) FROM seriatim.passed_over";
  CHECK(desk.database.value(passed_over) == "5");
  desk.insert(2);
  desk.deliver("process", 2);
  desk.prune();
  CHECK(desk.database.value(passed_over) == "0");
  CHECK(desk.audit().sound());
}

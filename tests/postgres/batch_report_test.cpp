// What reports and `skip` say of a lane whose batch goes out in another order than that of ids.
#include <doctest/doctest.h>

#include "postgres/shop.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

/// One transaction writes rows whose ids fall, stamped by now(): they go out from the greatest id
/// to the least. The receiver refuses the third.
struct Falling : Desk {
  Falling() {
    target.source.late_rows = OnLateRow::deliver;
    database.run("TRUNCATE bookings");
    write({50, 40, 30, 20, 10});
  }
  void write(const std::vector<int>& ids) {
    std::string statements = "BEGIN;";
    for (const int id : ids) {
      statements +=
          "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE VALUES (" +
          std::to_string(id) + ", now(), '{}');";
    }
    database.run(statements + "COMMIT");
  }
  /// Two rows are done; the third halts the lane, or is not handed over yet.
  void go_to_30(bool halts = true) {
    auto relay = this->relay();
    REQUIRE(relay.claim());
    const auto round = relay.poll();
    REQUIRE(round.records.size() == 5);
    REQUIRE(round.records[2].id() == "30");
    REQUIRE(relay.start());
    REQUIRE(relay.settle(
        {relay.cursor.position, {round.records[0].position, round.records[1].position}, {}}));
    relay.cursor = relay.session->claim().cursor;
    if (halts) halt_at_next(relay);
    relay.session->release(relay.cursor.epoch, false);
  }
  Ids peek(unsigned rows_max = 100) {
    Ids ids;
    for (const auto& row : admin.peek(target, 0, rows_max).rows) ids.push_back(row.record.id());
    return ids;
  }
  postgres::LaneAudit audit() {
    return admin.audit(target, true, [](std::uint64_t) {}).front();
  }
};

}  // namespace

TEST_CASE("rows that wait are shown as they were written") {
  Falling desk;
  CHECK(desk.peek() == Ids{"50", "40", "30", "20", "10"});
  CHECK(desk.peek(2) == Ids{"50", "40"});  // though it was read whole
  desk.write({8, 7});
  CHECK(desk.peek() == Ids{"50", "40", "30", "20", "10", "8", "7"});
}

TEST_CASE("status, why and skip name the row at which a batch goes on") {
  Falling desk;
  desk.go_to_30();
  const auto lane = desk.admin.status(desk.target).at(0);
  CHECK(lane.next_id == "30");
  CHECK(lane.lag_records == 3);
  CHECK(desk.admin.why(desk.target, "30").rows_before == 0);
  for (const auto& [id, before] : {std::pair{"20", 1U}, {"10", 2U}}) {
    const auto why = desk.admin.why(desk.target, id);
    CHECK(why.state == postgres::RowReport::State::waiting);
    CHECK(why.rows_before == before);
  }
  CHECK(desk.peek() == Ids{"30", "20", "10"});
  desk.write({8, 7});
  CHECK(desk.peek() == Ids{"30", "20", "10", "8", "7"});
  CHECK(desk.admin.why(desk.target, "8").rows_before == 4);
  CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "20", alice),
                       doctest::Contains("lane 0 is at row 30"), Error);
  CHECK(desk.admin.skip(desk.target, "30", alice).size() == 1);
}

TEST_CASE("skip accepts the row that the batch is at, and not the first by its place") {
  Falling desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  halt_at_next(relay);
  relay.session->release(relay.cursor.epoch, false);
  CHECK(desk.admin.status(desk.target).at(0).next_id == "50");
  CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "10", alice),
                       doctest::Contains("lane 0 is at row 50"), Error);
  CHECK(desk.admin.skip(desk.target, "50", alice).size() == 1);
  CHECK(desk.peek() == Ids{"40", "30", "20", "10"});
  CHECK(desk.audit().sound());
}

TEST_CASE("a row of a batch can be skipped before it is handed over, also behind the cursor") {
  Falling desk;
  desk.go_to_30(false);
  CHECK_THROWS_WITH_AS(desk.admin.skip(desk.target, "10", alice),
                       doctest::Contains("lane 0 is at row 30"), Error);
  CHECK(desk.admin.skip(desk.target, "30", alice).at(0) ==
        "lane 0: skipped late row 30 (sequence 3)");
  CHECK(desk.cursor("position_id") == "50");
  CHECK(desk.peek() == Ids{"20", "10"});
  CHECK(desk.audit().sound());
}

TEST_CASE(
    "the audit leaves the rows of a batch that goes on to it, and finds a late one among them") {
  Falling desk;
  desk.go_to_30();
  auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.gone == 0);
  desk.database.run(
      "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE "
      "SELECT 45, created_at, '{}' FROM bookings WHERE id = 50");
  audit = desk.audit();
  CHECK(audit.late_rows == 1);
  REQUIRE(audit.late.size() == 1);
  CHECK(audit.late[0].id == "45");
  CHECK(audit.gone == 0);
}

TEST_CASE("a redriven row is shown before those that wait") {
  Shop shop(OnPoison::dead_letter);
  shop.book({"a", "b", "c"});
  shop.refused = {"2"};
  REQUIRE(shop.drain() == Ids{"1", "3"});
  REQUIRE(shop.admin.redrive(shop.target, {.id = "2"}, alice).size() == 1);
  shop.book({"d"});
  const auto peeked = shop.admin.peek(shop.target, 0, 10);
  REQUIRE(peeked.rows.size() == 2);
  CHECK(peeked.rows[0].record.id() == "2");
  CHECK(peeked.rows[0].settled);
  CHECK(peeked.rows[1].record.id() == "4");
}

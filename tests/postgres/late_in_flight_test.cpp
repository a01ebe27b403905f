// late_rows = "deliver" with several calls in flight: rows that appear behind the cursor are set
// aside, and go out from there.
#include <doctest/doctest.h>

#include <atomic>
#include <map>

#include "postgres/desk.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using Ids = std::vector<std::string>;

namespace {

/// Rows 1 to 3 of the keys c1 to c3. A row that is blocked gets no answer.
struct LateShop : Desk {
  LateShop() {
    database.run("UPDATE bookings SET customer = 'c' || id");
    target.source.key = "customer";
    target.source.late_rows = OnLateRow::deliver;
    target.process.in_flight = 4;
    target.process.commit_every = 4;
    target.process.handler_deadline = 20s;
    target.process.backoff = {1ms, 5ms};
    target.process.standby_interval = 20ms;
    target.process.poll_interval_max = 20ms;
  }
  std::unique_ptr<InProcessRelay> run() {
    return std::make_unique<InProcessRelay>(
        postgres_source(database.url(), target.source), target.process,
        handler_from([this](const Record& record) { return take(record); }));
  }
  std::unique_ptr<InProcessRelay> run_and_settle_three() {
    auto relay = run();
    log.wait_for_rows(3);
    REQUIRE(settled(3));
    return relay;
  }
  Outcome take(const Record& record) {
    if (record.id() == refused) return Outcome::retry_later("503");
    wait_until("row " + record.id() + " is not blocked",
               [&] { return std::to_string(blocked) != record.id(); });
    log.add(record);
    return Outcome::done();
  }
  void insert_at(int id, const std::string& customer, const std::string& age) {
    database.run(std::string("INSERT INTO bookings (id, created_at, customer, payload) ") +
                 "OVERRIDING SYSTEM VALUE VALUES (" + std::to_string(id) + ", now() - interval '" +
                 age + "', '" + customer + "', '{}')");
  }
  /// Each once, in this order those of the key.
  void check_delivered(const std::string& customer, const Ids& expected) {
    Ids ids;
    for (const auto& record : log.records()) {
      if (record.key == customer) ids.push_back(record.id());
    }
    CHECK(ids == expected);
  }
  bool settled(int rows) {
    return database.becomes_true("SELECT sequence >= " + std::to_string(rows) +
                                 " AND ahead IS NULL AND NOT EXISTS (SELECT FROM seriatim.aside)"
                                 " FROM seriatim.cursor");
  }
  bool sound() {
    return admin.audit(target, true, [](std::uint64_t) {}).at(0).sound();
  }

  DeliveryLog log;
  std::string refused;          ///< set while no relay runs
  std::atomic<int> blocked{0};  ///< id
};

}  // namespace

TEST_SUITE("late rows with several calls in flight") {
  TEST_CASE("they go out marked as late, and the cursor stays") {
    LateShop shop;
    const auto relay = shop.run_and_settle_three();
    const auto cursor = shop.cursor("position_at, position_id");
    shop.insert_at(50, "c1", "5 min");
    shop.insert_at(51, "c7", "4 min");
    shop.insert_at(52, "c1", "3 min");
    shop.log.wait_for_rows(6);
    REQUIRE(shop.settled(6));
    CHECK(shop.cursor("position_at, position_id") == cursor);
    CHECK(shop.cursor("looked_at = position_at") == "t");
    shop.insert(1);
    shop.log.wait_for_rows(7);
    relay->stop();
    shop.check_delivered("c1", {"1", "50", "52"});
    shop.check_delivered("c7", {"51"});
    for (const auto& record : shop.log.records()) CHECK(record.late == (record.id() > "4"));
    CHECK(shop.sound());
  }

  TEST_CASE("they go out before rows of their key that were not called") {
    LateShop shop;
    shop.blocked = 10;
    const auto relay = shop.run_and_settle_three();
    shop.insert_at(10, "c1", "0 s");
    shop.insert_at(12, "c1", "0 s");  // read, and waits for row 10
    shop.insert_at(13, "c9", "0 s");
    shop.log.wait_for_rows(4);
    shop.insert_at(50, "c1", "5 min");
    shop.insert_at(51, "c8", "4 min");
    shop.log.wait_for_rows(5);  // 51 as well, so 50 was found
    shop.blocked = 0;
    shop.log.wait_for_rows(8);
    REQUIRE(shop.settled(8));
    relay->stop();
    shop.check_delivered("c1", {"1", "10", "50", "12"});
    CHECK(shop.sound());
  }

  TEST_CASE("a row that appears before those in flight is late once the cursor has passed") {
    LateShop shop;
    shop.blocked = 1;
    const auto relay = shop.run();
    shop.log.wait_for_rows(2);
    shop.insert_at(50, "c1", "5 min");
    shop.blocked = 0;
    shop.log.wait_for_rows(4);
    REQUIRE(shop.settled(4));
    relay->stop();
    shop.check_delivered("c1", {"1", "50"});
    CHECK(shop.sound());
  }

  TEST_CASE("one that fails waits for its turn again, or is skipped without moving the cursor") {
    LateShop shop;
    shop.refused = "50";
    auto relay = shop.run_and_settle_three();
    shop.insert_at(50, "c1", "5 min");
    REQUIRE(shop.database.becomes_true(
        "SELECT state = 'retrying' AND failed_id = '50' FROM seriatim.cursor"));
    relay->stop();
    shop.refused.clear();
    relay = shop.run();
    shop.log.wait_for_rows(4);
    REQUIRE(shop.settled(4));
    relay->stop();
    shop.check_delivered("c1", {"1", "50"});
    CHECK(shop.sound());
  }

  TEST_CASE("in_flight may change in the midst of it") {
    for (const unsigned first : {1U, 4U}) {
      CAPTURE(first);
      LateShop shop;
      shop.target.process.in_flight = first;
      shop.refused = "2";
      shop.target.process.backoff = {3'600'000ms, 3'600'000ms};
      auto relay = shop.run();
      REQUIRE(shop.database.becomes_true(
          "SELECT state = 'retrying' AND failed_id = '2' FROM seriatim.cursor"));
      relay->stop();
      shop.insert_at(50, "c2", "5 min");
      shop.refused.clear();
      shop.target.process.in_flight = first == 1 ? 4 : 1;
      shop.database.run("UPDATE seriatim.cursor SET next_attempt_at = now()");
      relay = shop.run();
      shop.log.wait_for_rows(4);
      REQUIRE(shop.settled(4));
      relay->stop();
      std::map<std::string, int> times;
      for (const auto& record : shop.log.records()) times[record.id()] += 1;
      CHECK(times == std::map<std::string, int>{{"1", 1}, {"2", 1}, {"3", 1}, {"50", 1}});
      CHECK(shop.sound());
    }
  }
}

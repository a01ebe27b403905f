// Several calls in flight on PostgreSQL: what is kept next to the cursor, and that acts know of it.
#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <set>
#include <thread>

#include "postgres/desk.hpp"
#include "postgres/store/rows_ahead.hpp"
#include "support/in_process_relay.hpp"
#include "support/process.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::RewindPlace;
using std::chrono::milliseconds;
using Ids = std::vector<std::string>;

namespace {

/// Rows 1 to 6, each of a key of its own. Row 1 is answered with 503 after the others were
/// delivered.
struct Ahead : Desk {
  explicit Ahead(OrderBy order) : Desk(order) {
    insert(3);
    database.run("UPDATE bookings SET customer = 'c' || id");
    target.source.key = "customer";
    target.process.in_flight = 6;
    target.process.handler_deadline = milliseconds{20'000};
    target.process.backoff = {milliseconds{3'600'000}, milliseconds{3'600'000}};
    target.process.standby_interval = milliseconds{20};
    target.process.poll_interval_max = milliseconds{20};
  }

  std::unique_ptr<InProcessRelay> run(unsigned lanes = 1) {
    auto process = target.process;
    process.lanes = lanes;
    return std::make_unique<InProcessRelay>(
        postgres_source(database.url(), target.source), process,
        handler_from([this](const Record& record) { return take(record); }));
  }
  Outcome take(const Record& record) {
    if (record.id() == "1" && !accepts) {
      wait_until("rows 2 to 6 are delivered", [&] { return log.size() >= 5; });
      return Outcome::retry_later("503");
    }
    log.add(record);
    return Outcome::done();
  }
  /// Row 1 waits, rows 2 to 6 are kept as done.
  void deliver_all_but_the_first() {
    const auto relay = run();
    REQUIRE(database.becomes_true(
        "SELECT coalesce(bool_and(state = 'retrying' AND ahead->>'done' = '[[2, 6]]'), false) "
        "FROM seriatim.cursor",
        30));
    relay->stop();
    log.wait_for_rows(5);
  }
  std::map<std::string, int> deliveries() const {
    std::map<std::string, int> of;
    for (const auto& record : log.records()) of[record.id()] += 1;
    return of;
  }
  bool sound() {
    return admin.audit(target, true, [](std::uint64_t) {}).at(0).sound();
  }

  DeliveryLog log;
  std::atomic<bool> accepts = false;
};

}  // namespace

TEST_CASE("what is kept of rows after the cursor is read as it was written, in short") {
  RowsAhead ahead;
  ahead.done = {"7", "8", "9", "012", "abc", "11", "-3", "0c5b7dba-8a3f-4f8e-9d5e-0f6f9a4d2a11"};
  ahead.open = {{20, "3", 1}, {21, "4", 1}, {22, "5", 2}, {25, "x\"y", 0}, {26, "6", 1}};
  ahead.numbered_to = 26;
  ahead.to = Position{1'700'000'000'000'001, "6"};
  const auto json = *postgres::json_of(ahead);
  CHECK(postgres::rows_ahead_from(json) == ahead);
  CHECK(json.find("[7,9]") != std::string::npos);
  CHECK(json.find("[20,1,3,2]") != std::string::npos);
  CHECK_FALSE(postgres::json_of({}).has_value());
  for (const auto* broken : {"", "[]", "{}", R"({"numbered_to":1,"done":[[1]],"open":[]})"}) {
    CHECK_THROWS_AS((void)postgres::rows_ahead_from(broken), SourceBroken);
  }
}

TEST_CASE("rows after one that failed are kept as done, and do not go out again") {
  for (const auto order : orders) {
    Ahead desk(order);
    desk.deliver_all_but_the_first();
    CHECK(desk.database.value("SELECT position_id IS NULL AND sequence = 0 AND attempts = 1 AND "
                              "failed_id = '1' FROM seriatim.cursor") == "t");
    desk.accepts = true;
    desk.admin.retry(desk.target, alice);
    const auto relay = desk.run();
    CHECK(desk.database.becomes_true(
        "SELECT sequence = 6 AND position_id = '6' AND ahead IS NULL FROM seriatim.cursor", 30));
    CHECK(desk.deliveries() ==
          std::map<std::string, int>{{"1", 1}, {"2", 1}, {"3", 1}, {"4", 1}, {"5", 1}, {"6", 1}});
    const auto records = desk.log.records();
    std::set<std::uint64_t> numbers;
    for (const auto& record : records) numbers.insert(record.sequence);
    CHECK(numbers.size() == 6);
    CHECK(records.back().attempt == 2);
    relay->stop();
    CHECK(desk.sound());
  }
}

TEST_CASE("skipped, the row that failed is passed over, and what was done after it stays done") {
  Ahead desk(OrderBy::created_at);
  desk.deliver_all_but_the_first();
  desk.admin.skip(desk.target, "1", alice);
  const auto relay = desk.run();
  CHECK(desk.database.becomes_true(
      "SELECT sequence = 6 AND position_id = '6' AND ahead IS NULL FROM seriatim.cursor", 30));
  relay->stop();
  CHECK(desk.log.size() == 5);
  CHECK(desk.sound());
}

TEST_CASE("rewound to the start, the rows that were done after the cursor come again") {
  Ahead desk(OrderBy::created_at);
  desk.deliver_all_but_the_first();
  desk.accepts = true;
  desk.admin.rewind(desk.target, {RewindPlace::Kind::start, {}}, alice);
  CHECK(desk.database.value("SELECT ahead->>'done' = '[]' FROM seriatim.cursor") == "t");
  const auto relay = desk.run();
  CHECK(desk.database.becomes_true("SELECT position_id = '6' FROM seriatim.cursor", 30));
  relay->stop();
  CHECK(desk.deliveries() ==
        std::map<std::string, int>{{"1", 1}, {"2", 2}, {"3", 2}, {"4", 2}, {"5", 2}, {"6", 2}});
  // Numbers grow, so that no later row of a key has a lower one than its key had before.
  for (std::size_t i = 5; i < 11; ++i) CHECK(desk.log.records().at(i).sequence > 6);
  CHECK(desk.sound());
}

TEST_CASE("lanes are cut anew after the last row that was done, and nothing goes out twice") {
  Ahead desk(OrderBy::created_at);
  desk.deliver_all_but_the_first();
  desk.accepts = true;
  desk.admin.retry(desk.target, alice);
  std::unique_ptr<InProcessRelay> relay;
  desk.admin.repartition(desk.target, 2, alice, [&](const std::string& left) {
    CHECK(left.starts_with("lane 0: 6 rows"));  // up to row 6: a barrier, and then they go on
    if (!relay) relay = desk.run();
    std::this_thread::yield();
    return true;
  });
  relay = desk.run(2);
  desk.insert(4);
  CHECK(desk.log.wait_for_rows(10));
  relay->stop();
  CHECK(desk.log.size() == 10);
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.cursor WHERE ahead IS NOT NULL") == "0");
}

TEST_CASE("a row deleted while it was in flight takes its number with it") {
  Ahead desk(OrderBy::created_at);
  desk.deliver_all_but_the_first();
  desk.database.run("DELETE FROM bookings WHERE id = 1");
  desk.admin.retry(desk.target, alice);
  const auto relay = desk.run();
  CHECK(desk.database.becomes_true(
      "SELECT sequence = 6 AND position_id = '6' AND ahead IS NULL FROM seriatim.cursor", 30));
  desk.insert(1);
  CHECK(desk.log.wait_for_rows(6));
  relay->stop();
  CHECK(desk.log.records().back().sequence == 7);
  CHECK(desk.sound());
}

TEST_CASE("an act waits for every call in flight, and none begins meanwhile") {
  Ahead desk(OrderBy::created_at);
  std::atomic<int> calls = 0;
  std::atomic<bool> open = false;
  auto process = desk.target.process;
  process.in_flight = 3;
  InProcessRelay relay(postgres_source(desk.database.url(), desk.target.source), process,
                       handler_from([&](const Record&) {
                         ++calls;
                         wait_until("the calls may end", [&] { return open.load(); });
                         return Outcome::done();
                       }));
  wait_until("three calls are in flight", [&] { return calls == 3; });
  std::atomic<bool> paused = false;
  std::jthread person([&] {
    desk.admin.pause(desk.target, alice);
    paused = true;
  });
  CHECK(desk.database.becomes_true("SELECT hold_by IS NOT NULL FROM seriatim.cursor", 30));
  CHECK_FALSE(paused);
  open = true;
  person.join();
  // Those that were handed over with the three may have begun before the lane knew of the person.
  const int begun = calls;
  CHECK(begun <= 4);
  CHECK(desk.database.value("SELECT state = 'paused' AND call_epoch IS NULL AND sequence + "
                            "coalesce(jsonb_array_length(ahead->'done'), 0) >= 3 "
                            "FROM seriatim.cursor") == "t");
  relay.stop();
  CHECK(calls == begun);
}

TEST_CASE("backends that end amid several calls cost repeats within the bound, and no order") {
  for (const unsigned commit_every : {1U, 8U}) {
    CAPTURE(commit_every);
    Desk desk;
    desk.target.source.key = "customer";
    desk.database.run(
        "INSERT INTO bookings (customer, payload) SELECT 'c' || n % 20, '{}' FROM "
        "generate_series(1, 1500) AS n");
    auto process = desk.target.process;
    process.in_flight = 8;
    process.commit_every = commit_every;
    process.handler_deadline = milliseconds{20'000};
    process.standby_interval = milliseconds{20};
    DeliveryLog log;
    InProcessRelay relay(postgres_source(desk.database.url(), desk.target.source), process,
                         handler_from([&](const Record& record) {
                           std::this_thread::sleep_for(milliseconds{1});
                           log.add(record);
                           return Outcome::done();
                         }));
    std::size_t kills = 0;
    for (std::size_t rows = 150; rows <= 1'350; rows += 150) {
      REQUIRE(log.wait_for_rows(rows));
      kills += std::stoul(desk.database.value(
          "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name "
          "LIKE 'seriatim/%' AND datname = current_database()"));
    }
    CHECK(desk.database.becomes_true(
        "SELECT sequence = 1503 AND ahead IS NULL FROM seriatim.cursor", 60));
    relay.stop();
    const auto records = log.records();
    const auto repeats = records.size() - 1'503;
    MESSAGE(repeats, " repeats after ", kills, " ends of backends");
    CHECK(records.size() >= 1'503);
    CHECK(repeats <= kills * (process.in_flight + commit_every));
    std::map<std::string, long> last;
    std::map<std::string, std::uint64_t> number;
    for (const auto& record : records) {
      const auto [known, first] = number.emplace(record.id(), record.sequence);
      CHECK(known->second == record.sequence);
      if (!first) continue;
      auto& before = last[record.key.value_or("")];
      CHECK(before < std::stol(record.id()));
      before = std::stol(record.id());
    }
    CHECK(desk.admin.audit(desk.target, true, [](std::uint64_t) {}).at(0).sound());
  }
}

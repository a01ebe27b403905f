// What operators see: status and peek.
#include "postgres/admin/reports/status_reader.hpp"
#include "postgres/desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

TEST_CASE("a process that never ran is shown as standby with the whole table as its lag") {
  Desk desk;
  const auto reports = desk.admin.status(desk.target);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].lane.state == LaneState::standby);
  CHECK(reports[0].lane.detail == "never claimed: start `seriatim run`");
  CHECK(reports[0].lag_records == 3);
  CHECK(reports[0].next_id == "1");
  CHECK_FALSE(reports[0].lane.position);
  CHECK_FALSE(reports[0].holder_alive);
}

TEST_CASE(
    "a lane is running while settled rows wait, idle when none do, standby without its holder") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Desk desk(order);
    auto report = [&] { return desk.admin.status(desk.target).at(0); };
    {
      auto relay = desk.relay();
      REQUIRE(relay.claim());
      CHECK(report().lane.state == LaneState::running);
      CHECK(report().holder == "relay");
      CHECK(report().holder_alive);
      CHECK(relay.deliver(2) == Ids{"1", "2"});
      CHECK(report().lane.position->id == "2");
      CHECK(report().lane.sequence == 2);
      CHECK(report().lag_records == 1);
      CHECK(report().next_id == "3");
      CHECK(relay.deliver() == Ids{"3"});
      CHECK(report().lane.state == LaneState::idle);
      CHECK(report().lag_records == 0);
      CHECK(report().lag_age == milliseconds{0});
    }
    REQUIRE(desk.database.becomes_true(
        "SELECT state = 'standby' FROM seriatim.lanes"));  // its backend is gone, nobody said so
    desk.insert(1);
    CHECK(report().lane.state == LaneState::standby);
    CHECK_FALSE(report().holder_alive);
    CHECK(report().holder.empty());
    CHECK(report().lag_records == 1);
    CHECK(report().updated_at.find('T') == 10);
  }
}

TEST_CASE("lanes configured beyond those the process is cut into are not reported as gone") {
  Desk desk;
  REQUIRE(desk.relay().claim());
  desk.target.process.lanes = 2;
  const auto reports = desk.admin.status(desk.target);
  REQUIRE(reports.size() == 2);
  CHECK_FALSE(reports[0].lane.reason);
  CHECK(reports[1].lane.reason == HaltReason::config_changed);
  CHECK(contains(reports[1].lane.detail, "was cut into 1 lanes and is now configured with 2"));
  CHECK(contains(reports[1].lane.detail, "seriatim lanes process 2"));
}

TEST_CASE("a lane held back by a transaction is fenced, and the transaction is named") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Desk desk(order);
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver().size() == 3);
    auto producer = desk.database.connect("slow producer");
    producer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");
    desk.insert(1);
    auto report = desk.admin.status(desk.target).at(0);
    CHECK(report.lane.state == LaneState::fenced);
    CHECK(report.lane.row_id == "5");
    CHECK(report.lag_records == 1);
    REQUIRE(report.lane.blockers.size() == 1);
    CHECK(report.lane.blockers[0].pid == producer.pid());
    CHECK(report.lane.blockers[0].application == "slow producer");
    CHECK(report.lane.detail.find(std::to_string(producer.pid())) != std::string::npos);

    producer.run("PREPARE TRANSACTION 'two phases'");
    report = desk.admin.status(desk.target).at(0);
    CHECK(report.lane.state == LaneState::fenced);
    REQUIRE(report.lane.blockers.size() == 1);
    CHECK(report.lane.blockers[0].gid == "two phases");
    desk.database.run("ROLLBACK PREPARED 'two phases'");
    CHECK(desk.admin.status(desk.target).at(0).lane.state == LaneState::running);
  }
}

TEST_CASE("a lane that waits for a row stamped in the future says so") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  desk.database.run(
      "INSERT INTO bookings (created_at) VALUES (clock_timestamp() + interval '1 hour')");
  const auto report = desk.admin.status(desk.target).at(0);
  CHECK(report.lane.state == LaneState::fenced);
  CHECK(report.lane.row_id == "4");
  CHECK(report.lane.detail.find("row 4 is stamped ") == 0);
  CHECK(report.lane.detail.find("ahead of the server's clock") != std::string::npos);
}

TEST_CASE("a writer that began after the waiting row was stamped is not said to hold it") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(desk.database.becomes_true(
      "SELECT clock_timestamp() > max(created_at) + interval '20 ms' FROM bookings"));
  auto producer = desk.database.connect();
  producer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");
  CHECK(desk.admin.status(desk.target).at(0).lane.state == LaneState::running);
}

TEST_CASE("a holder in a call longer than `lease` is shown as the holder") {
  Desk desk;
  auto relay = desk.relay();
  relay.config.lease = milliseconds{50};
  relay.open();
  REQUIRE(relay.claim());
  REQUIRE(relay.start());
  REQUIRE(desk.database.becomes_true(
      "SELECT clock_timestamp() > calling_since + interval '100 ms' FROM seriatim.cursor"));
  const auto report = desk.admin.status(desk.target).at(0);
  CHECK(report.lane.state == LaneState::running);
  CHECK(report.holder == "relay");
  REQUIRE(relay.settle({relay.cursor.position, {}, {}, Rest{}}));
  REQUIRE(
      desk.database.becomes_true("SELECT lease_until < clock_timestamp() FROM seriatim.cursor"));
  CHECK(desk.admin.status(desk.target).at(0).lane.state == LaneState::standby);
}

TEST_CASE("a halted lane is shown with its row, its reason and what the receiver said") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  halt_at_next(relay);
  const auto report = desk.admin.status(desk.target).at(0);
  CHECK(report.lane.state == LaneState::halted);
  CHECK(report.lane.reason == HaltReason::poison);
  CHECK(report.lane.row_id == "2");
  CHECK(report.lane.detail == "receiver said 422");
  CHECK(report.lag_records == 2);
  CHECK(report.lag_age >= milliseconds{0});
}

TEST_CASE("cursors are shown although the table is gone") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  desk.database.run("DROP TABLE bookings");
  const auto report = desk.admin.status(desk.target).at(0);
  CHECK(report.lane.position->id == "1");
  CHECK(report.lane.detail.find("there is no table bookings") != std::string::npos);
}

TEST_CASE("every row is counted in exactly one of several lanes") {
  Desk desk;
  desk.target.process.lanes = 3;
  desk.target.source.key = "customer";
  desk.database.run(
      "INSERT INTO bookings (customer) SELECT 'c' || n FROM generate_series(1, 60) AS n");
  const auto reports = desk.admin.status(desk.target);
  REQUIRE(reports.size() == 3);
  std::uint64_t sum = 0;
  for (const auto& report : reports) {
    CHECK(report.lag_records > 0);
    sum += report.lag_records.value_or(0);
  }
  CHECK(sum == 63);
}

TEST_CASE("a lane far behind is counted as far as a pass goes, and the others exactly") {
  BOTH_ORDERS
  Desk desk(order);
  desk.target.process.lanes = 2;
  desk.target.source.key = "customer";
  desk.database.run(
      "INSERT INTO bookings (customer) SELECT 'c' || n % 100 FROM generate_series(1, 120000) AS n;"
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, position_id) "
      "SELECT 'process', 1, 2, created_at, id::text FROM bookings WHERE id = 119000;"
      "INSERT INTO seriatim.cursor (process_name, lane, lanes) VALUES ('process', 0, 2)");
  const std::string in_lane = "coalesce((hashtextextended(customer, 0) % 2 + 2) % 2, 0) = ";
  const auto count = [&](const std::string& which) {
    return std::stoull(desk.database.value("SELECT count(*) FROM bookings WHERE " + which));
  };
  const auto reports = desk.admin.status(desk.target);
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].lag_more);
  CHECK(reports[0].lag_records == count(in_lane + "0 AND id <= 100001"));
  CHECK(reports[0].next_id == "1");
  CHECK_FALSE(reports[1].lag_more);
  CHECK(reports[1].lag_records == count(in_lane + "1 AND id > 119000"));
  CHECK(reports[1].next_id ==
        desk.database.value("SELECT min(id) FROM bookings WHERE " + in_lane + "1 AND id > 119000"));
}

TEST_CASE("peek shows waiting rows in lane order and says which are behind the fence") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Desk desk(order);
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    REQUIRE(relay.deliver(1) == Ids{"1"});
    auto peeked = desk.admin.peek(desk.target, 0, 10).rows;
    REQUIRE(peeked.size() == 2);
    CHECK(peeked[0].record.id() == "2");
    CHECK(peeked[0].record.sequence == 2);
    CHECK(peeked[0].settled);
    CHECK(peeked[1].settled);
    CHECK(desk.admin.peek(desk.target, 0, 1).rows.size() == 1);

    REQUIRE(relay.deliver() == Ids{"2", "3"});
    auto producer = desk.database.connect();
    producer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");
    desk.insert(1);
    peeked = desk.admin.peek(desk.target, 0, 10).rows;
    REQUIRE(peeked.size() == 1);
    CHECK(peeked[0].record.id() == "5");
    CHECK_FALSE(peeked[0].settled);
    CHECK_THROWS_AS(static_cast<void>(desk.admin.peek(desk.target, 7, 1)), Error);
  }
}

TEST_CASE("a table that changed between two reads is read as it is now") {
  Desk desk;
  postgres::StatusReader reader(desk.database.url(), {desk.target});
  CHECK(reader.read().at(0).lag_records == 3);
  const auto& table = desk.target.source.table;
  desk.database.run("ALTER TABLE " + table + " RENAME TO moved; CREATE TABLE " + table +
                    " (LIKE moved INCLUDING ALL)");
  CHECK(reader.read().at(0).lag_records == 0);
  desk.database.run("DROP TABLE " + table);
  CHECK(reader.read().at(0).unread);
  desk.database.run("ALTER TABLE moved RENAME TO " + table);
  CHECK(reader.read().at(0).lag_records == 3);
  CHECK_FALSE(reader.read().at(0).unread);
}

// `prune`: what was delivered is deleted, and nothing else.
#include "postgres/admin/prune/prune.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "postgres/least_role.hpp"
#include "postgres/pruned_desk.hpp"
#include "postgres/test_auditor.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::prune;
using std::chrono::milliseconds;

TEST_CASE("what lies below the cursor goes, the row at it stays, and the audit stays complete") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.insert(2);  // wait
  const auto report = desk.prune();
  CHECK(report.rows == 299);
  CHECK(report.sound());
  CHECK(desk.left() == "300 301 302");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.rows == 1);
  CHECK(audit.pruned == 299);
  CHECK(audit.gone == 0);
  CHECK(desk.prune().rows == 0);
  CHECK(desk.database.value("SELECT string_agg(act || ':' || who || ':' || "
                            "coalesce(detail->>'rows', '-'), ' ' ORDER BY id)"
                            " FROM seriatim.journal WHERE act LIKE 'prune%'") ==
        "prune:alice@desk:- pruned:alice@desk:299");
}

TEST_CASE("rows younger than asked for stay") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.database.run(
      "UPDATE bookings SET created_at = created_at - interval '8 days' WHERE id <= 100");
  desk.database.run(
      "UPDATE seriatim.ledger SET from_at = from_at - interval '8 days', "
      "to_at = to_at - interval '8 days' WHERE to_id::int <= 100");
  auto choice = everything();
  choice.older_than = std::chrono::hours{7 * 24};
  CHECK(desk.prune(choice).rows > 0);
  CHECK(desk.database.value("SELECT count(*) FROM bookings WHERE id > 100") == "200");
  CHECK(desk.database.value("SELECT count(*) FROM bookings WHERE id <= 100") != "100");
}

TEST_CASE("a process that lags holds everything from its cursor on, in the configuration or not") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.deliver("second", 100);
  SUBCASE("configured") {
    desk.targets.push_back(desk.another("second"));
  }
  SUBCASE("not in the configuration") {}
  const auto report = desk.prune();
  CHECK(report.rows == 99);
  REQUIRE(report.held_by);
  CHECK(contains(*report.held_by, "process second, lane 0, at row 100"));
  CHECK(desk.left() == "100 101 102 103 104");
  CHECK(desk.audit().sound());
  CHECK(desk.audit(desk.another("second")).sound());
  desk.deliver("second", 300);
  CHECK(desk.prune().rows == 200);
  CHECK(desk.audit().pruned == 299);
  CHECK(desk.audit(desk.another("second")).sound());
}

TEST_CASE("a configured process that never ran holds every row") {
  Delivered desk;
  desk.targets.push_back(desk.another("second"));
  const auto report = desk.prune();
  CHECK(report.rows == 0);
  REQUIRE(report.held_by);
  CHECK(contains(*report.held_by, "second, which never ran"));
  CHECK(desk.count() == "300");
}

TEST_CASE("a lane whose cursor row is gone holds every row") {
  Delivered desk(OrderBy::id, "customer");
  auto two = desk.another("two");
  two.process.lanes = 2;
  desk.targets.push_back(two);
  desk.deliver("two", 300, {"", 0, 2});
  desk.deliver("two", 300, {"", 1, 2});
  desk.database.run("DELETE FROM seriatim.cursor WHERE process_name = 'two' AND lane = 1");
  const auto report = desk.prune();
  CHECK(report.rows == 0);
  CHECK(contains(report.held_by.value_or(""), "two, of whose 2 lanes 1 has no row in"));
  CHECK(desk.count() == "300");
}

TEST_CASE("the lane that is furthest behind holds the rows of all lanes") {
  BOTH_ORDERS
  Delivered desk(order, "customer");
  auto two = desk.another("two");
  two.process.lanes = 2;
  desk.targets.push_back(two);
  desk.deliver("two", 300, {"", 0, 2});
  const auto held = desk.prune();
  CHECK(held.rows == 0);
  CHECK(contains(held.held_by.value_or(""), "two, lane 1, which has delivered nothing yet"));
  desk.deliver("two", 30, {"", 1, 2});
  const auto lowest = std::stoi(desk.database.value(
      "SELECT position_id FROM seriatim.cursor WHERE process_name = 'two' AND lane = 1"));
  CHECK(desk.prune().rows == static_cast<unsigned>(lowest) - 1);
  for (const auto& lane : desk.admin.audit(two, false, [](std::uint64_t) {})) CHECK(lane.sound());
  desk.deliver("two", 300, {"", 1, 2});
  desk.prune();
  for (const auto& lane : desk.admin.audit(two, false, [](std::uint64_t) {})) {
    CHECK(lane.sound());
    CHECK(lane.gone == 0);
  }
}

TEST_CASE("of lanes that are at one moment the one behind holds") {
  Delivered desk(OrderBy::created_at, "customer");
  desk.database.run(
      "INSERT INTO bookings (created_at, customer, payload)"
      " SELECT now(), n, '{}' FROM generate_series(301, 340) n");
  desk.deliver("process", 40);
  auto two = desk.another("two");
  two.process.lanes = 2;
  desk.targets.push_back(two);
  desk.deliver("two", 340, {"", 0, 2});
  desk.deliver("two", 340, {"", 1, 2});
  desk.database.run(
      "UPDATE seriatim.cursor SET position_id = '310' WHERE process_name = 'two' AND lane = 1");
  REQUIRE(desk.database.value("SELECT count(DISTINCT position_at) FROM seriatim.cursor") == "1");
  CHECK(desk.prune().rows == 309);
}

TEST_CASE("parked rows, rows of a batch that was started and rows lanes are at stay") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.database.run(
      "INSERT INTO seriatim.aside (process_name, row_id, lane, position_at, state, head, parked_at)"
      " SELECT 'process', '17', 0, created_at, 'parked', true, now() FROM bookings WHERE id = 17;"
      "INSERT INTO seriatim.aside (process_name, row_id, lane, state, begun)"
      " VALUES ('process', '18', 0, 'due', true);"
      "UPDATE seriatim.cursor SET failed_id = '19'");
  const auto report = desk.prune();
  CHECK(report.rows == 296);
  CHECK(report.set_aside == 3);
  CHECK(desk.left() == "17 18 19 300");
  CHECK(desk.audit().sound());
  CHECK(desk.audit().gone == 0);
}

TEST_CASE("a late row is neither deleted nor hidden") {
  BOTH_ORDERS
  Delivered desk(order);
  const std::string behind =
      "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE ";
  const auto id = order == OrderBy::id ? "-7" : "1000";
  bool sealed = false;
  SUBCASE("where ids are kept") {}
  SUBCASE("in a sealed bucket") {
    desk.seal();
    sealed = true;
  }
  desk.database.run(behind + "SELECT " + id + ", created_at, '{}' FROM bookings WHERE id = 2");
  const auto report = desk.prune();
  CHECK_FALSE(report.sound());
  CHECK((sealed ? report.unproven : report.late) >= 1);
  if (!sealed) CHECK(report.late_ids == Ids{id});
  CHECK(desk.database.value(std::string("SELECT count(*) FROM bookings WHERE id = ") + id) == "1");
  CHECK(report.rows > 0);  // of the other buckets
  const auto audit = desk.audit();
  CHECK_FALSE(audit.sound());
  CHECK((sealed ? audit.mismatches : audit.late_rows) == 1);
}

TEST_CASE("a late row in a sealed bucket that is half pruned is still found") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.deliver("second", 100);
  desk.targets.push_back(desk.another("second"));
  desk.seal();
  CHECK(desk.prune().rows == 99);
  CHECK(desk.audit().sound());
  CHECK(desk.audit().thinned == 0);
  const auto id = order == OrderBy::id ? "98" : "1000";
  desk.database.run(
      std::string("INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE "
                  "SELECT ") +
      id + ", created_at - interval '1 us', '{}' FROM bookings WHERE id = 100");
  CHECK_FALSE(desk.audit().sound());
  CHECK(desk.audit().mismatches == 1);
}

TEST_CASE("buckets that are merged while rows are pruned keep their sums") {
  Delivered desk;
  auto choice = everything();
  choice.batch_rows = 40;
  bool merged = false;
  desk.prune(choice, [&](std::uint64_t, microseconds) {
    if (!std::exchange(merged, true)) {
      desk.target.source.audit_window = milliseconds{0};
      CHECK_FALSE(audit_fully(desk.database, desk.target.source));  // at its end it seals
    }
    return true;
  });
  CHECK(desk.database.value("SELECT bool_and(ids IS NULL) FROM seriatim.ledger") == "t");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.pruned == 299);
  CHECK(audit.thinned == 0);
  CHECK(audit.gone == 0);
}

TEST_CASE("a dry run counts what a prune then deletes, and changes nothing") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.database.run("DELETE FROM bookings WHERE id = 5");
  auto choice = everything();
  choice.dry_run = true;
  const auto counted = desk.prune(choice);
  CHECK(desk.count() == "299");
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.journal WHERE act LIKE 'prune%'") ==
        "0");
  const auto done = desk.prune();
  CHECK(counted.rows == done.rows);
  CHECK(done.rows == 298);
}

TEST_CASE("rows no process delivers stay, unless they are asked for") {
  Desk desk;
  desk.database.run(
      "INSERT INTO bookings (customer) SELECT CASE WHEN n % 3 = 0 THEN 'x' END FROM "
      "generate_series(4, 90) n");
  desk.target.source.where = "customer = 'x'";
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  CHECK(relay.deliver().size() == 29);
  const std::vector<Target> targets{desk.target};
  auto report = prune(desk.database.url(), targets, everything(), alice, go_on).front();
  CHECK(report.rows == 28);
  CHECK(report.filtered == 61);
  auto choice = everything();
  choice.filtered = true;
  report = prune(desk.database.url(), targets, choice, alice, go_on).front();
  CHECK(report.rows == 61);
  CHECK(desk.database.value("SELECT count(*) FROM bookings") == "1");
  CHECK(desk.admin.audit(desk.target, false, [](std::uint64_t) {}).front().sound());
}

TEST_CASE("within the lookback of late_rows = deliver nothing goes") {
  Delivered desk;
  desk.targets[0].source.late_rows = OnLateRow::deliver;
  CHECK(desk.prune().rows == 0);
  desk.targets[0].source.lookback = milliseconds{1};
  const auto old = desk.database.value(
      "SELECT count(*) FROM bookings WHERE created_at < (SELECT position_at - interval '1 ms' FROM "
      "seriatim.cursor)");
  CHECK(std::to_string(desk.prune().rows) == old);
}

TEST_CASE("a rewind reports what was pruned, and delivers what is left with its own numbers") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.deliver("second", 100);
  CHECK(desk.prune().rows == 99);
  const auto steps =
      desk.admin.rewind(desk.target, {postgres::RewindPlace::Kind::start, {}}, alice);
  CHECK(steps.at(0).pruned == 99);
  CHECK(steps.at(0).rows == 201);
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  CHECK(relay.cursor.sequence == 99);
  CHECK(relay.deliver(3) == Ids{"100", "101", "102"});
  CHECK(desk.audit().sound());
  CHECK_THROWS_WITH_AS(
      desk.admin.rewind(desk.target, {postgres::RewindPlace::Kind::row, "17"}, alice),
      doctest::Contains("it may have been pruned"), Error);
}

TEST_CASE("no cursor goes back while a batch is deleted") {
  Delivered desk;
  auto pruning = desk.database.connect();
  pruning.run(
      "BEGIN; SELECT pg_advisory_xact_lock_shared(hashtextextended('seriatim.retention', 0))");
  const postgres::RewindPlace start{postgres::RewindPlace::Kind::start, {}};
  CHECK_THROWS_AS(desk.admin.rewind(desk.target, start, alice), SessionLost);
  pruning.run("COMMIT");
  CHECK(desk.admin.rewind(desk.target, start, alice).at(0).rows == 300);
}

TEST_CASE(
    "between two batches nothing is locked, so that the fence is held no longer than a batch") {
  Delivered desk;
  auto choice = everything();
  choice.batch_rows = 50;
  int pauses = 0;
  const auto report = desk.prune(choice, [&](std::uint64_t, microseconds pause) {
    CHECK(pause > microseconds{0});
    CHECK(desk.database.value("SELECT count(*) FROM pg_locks WHERE relation = 'bookings'::regclass"
                              " AND mode = 'RowExclusiveLock'") == "0");
    pauses += 1;
    return true;
  });
  CHECK(pauses == static_cast<int>(report.batches));
  CHECK(report.batches >= 6);
}

TEST_CASE("asked to stop, it ends between two batches, and the next prune goes on") {
  Delivered desk;
  auto choice = everything();
  choice.batch_rows = 50;
  const auto report = desk.prune(choice, [](std::uint64_t, microseconds) { return false; });
  CHECK(report.interrupted);
  CHECK(report.rows == 50);
  CHECK(desk.count() == "250");
  CHECK(desk.audit().sound());
  CHECK(desk.prune().rows == 249);
}

TEST_CASE("rows locked by others are waited for between batches, not in them") {
  Delivered desk;
  auto other = desk.database.connect();
  other.run("BEGIN; SELECT FROM bookings WHERE id = 3 FOR UPDATE");
  int refused = 0;
  const auto report = desk.prune(everything(), [&](std::uint64_t rows, microseconds) {
    if (rows == 0 && ++refused == 2) other.run("COMMIT");
    return true;
  });
  CHECK(refused == 2);
  CHECK(report.rows == 299);
}

TEST_CASE("rows locked for long are passed over, the others go") {
  Delivered desk;
  auto other = desk.database.connect();
  other.run("BEGIN; SELECT FROM bookings WHERE id = 3 FOR UPDATE");
  auto choice = everything();
  choice.batch_rows = 10;
  const auto report = desk.prune(choice);
  CHECK(report.rows == 289);
  CHECK(report.changed == 10);
  CHECK(desk.left() == "1 2 3 4 5");
  CHECK(desk.audit().sound());
}

TEST_CASE("where it cannot be known what was read, nothing is deleted") {
  Delivered desk;
  std::string said;
  SUBCASE("a cursor that does not say its table") {
    desk.deliver("unknown", 300);
    desk.database.run("UPDATE seriatim.cursor SET identity = NULL WHERE process_name = 'unknown'");
    said = "does not say which table it reads";
  }
  SUBCASE("a cursor kept for another table of that name") {
    desk.database.run(
        "UPDATE seriatim.cursor SET identity = jsonb_set(identity, '{table_oid}', '\"1\"')");
    said = "seriatim adopt process";
  }
  SUBCASE("a lane halted for what is behind its cursor") {
    desk.database.run(
        "UPDATE seriatim.cursor SET state = 'halted', reason = 'LATE_ROW', failed_id = '7'");
    said = "is halted LATE_ROW";
  }
  SUBCASE("a table nobody reads") {
    desk.database.run("CREATE TABLE others (id bigint PRIMARY KEY, created_at timestamptz)");
    auto choice = everything();
    choice.table = "others";
    CHECK_THROWS_WITH_AS(desk.prune(choice), doctest::Contains("no process of this configuration"),
                         Error);
    return;
  }
  CHECK_THROWS_WITH_AS(desk.prune(), doctest::Contains(said.c_str()), Error);
  CHECK(desk.count() == "300");
}

TEST_CASE("a role that may not delete learns the GRANT it lacks, and needs nothing else") {
  Delivered desk;
  LeastRole role(desk.database, "bookings");
  const auto run = [&] { return prune(role.url(), desk.targets, everything(), alice, go_on); };
  CHECK_THROWS_WITH_AS(run(), doctest::Contains("GRANT DELETE ON public.bookings"), Error);
  CHECK(desk.count() == "300");
  desk.database.run("GRANT DELETE ON bookings TO " + role.name());
  CHECK(run().front().rows == 299);
}

TEST_CASE(
    "producers, a relay and a prune at once: nothing is lost, order is kept, the audit complete") {
  BOTH_ORDERS
  Desk desk(order);
  std::vector<std::jthread> producers;
  for (int i = 0; i < 3; ++i) {
    producers.emplace_back([&] {
      auto session = desk.database.connect("producer");
      for (int n = 0; n < 60; ++n) {
        session.run("BEGIN; INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(1, 5)");
        session.run("SELECT pg_sleep(random() * 0.01)");
        session.run(n % 10 == 0 ? "ROLLBACK" : "COMMIT");
      }
    });
  }
  std::uint64_t pruned = 0;
  std::jthread pruner([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const auto& report :
           prune(desk.database.url(), {desk.target}, everything(), alice, go_on)) {
        CHECK(report.sound());
        pruned += report.rows;
      }
    }
  });
  desk.database.run("CREATE TABLE seen (number serial, id bigint, created_at timestamptz)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  const auto deliver = [&] {
    const auto round = relay.poll();
    if (round.records.empty()) return false;
    if (!relay.advance(round)) {
      relay.claim();  // the cursor was locked for a moment
      return true;
    }
    for (const auto& record : round.records) {
      desk.database.run("INSERT INTO seen (id, created_at) VALUES (" + record.id() +
                        ", to_timestamp(" + std::to_string(record.position.created_at_us) +
                        " / 1e6))");
    }
    return true;
  };
  const auto committed = 3 + 3 * 54 * 5;
  std::uint64_t rounds = 0;
  while (desk.database.value("SELECT count(*) FROM seen") != std::to_string(committed) &&
         ++rounds < 20'000)
    deliver();
  for (auto& producer : producers) producer.join();
  pruner.request_stop();
  pruner.join();
  CHECK(desk.database.value("SELECT count(DISTINCT id) FROM seen") == std::to_string(committed));
  CHECK(desk.database.value(order == OrderBy::id
                                ? "SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER "
                                  "(ORDER BY number) AS before FROM seen) AS s"
                                : "SELECT bool_and((created_at, id) > before) FROM (SELECT "
                                  "created_at, id, lag((created_at, id)) OVER "
                                  "(ORDER BY number) AS before FROM seen) AS s") == "t");
  CHECK(pruned > 0);
  const auto audit = desk.admin.audit(desk.target, false, [](std::uint64_t) {}).front();
  CHECK(audit.sound());
  CHECK(audit.gone == 0);
  CHECK(audit.rows + audit.pruned == static_cast<std::uint64_t>(committed));
}

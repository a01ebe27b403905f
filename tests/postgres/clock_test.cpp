// Clocks, zones and languages that are not what one expects (FAULTS 45). The server's clock is
// stepped by a clock_timestamp() of our own, in the place of the server's in one database.
#include <doctest/doctest.h>

#include <cstdlib>

#include "postgres/lane_fixture.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

/// A table stamped, and a lane that polls, by a clock that can be stepped.
class SteppedClock {
 public:
  explicit SteppedClock(milliseconds insert_latency) {
    database.run(R"(
      CREATE SCHEMA stepped;
      CREATE TABLE stepped.step (by interval);
      INSERT INTO stepped.step VALUES ('0');
      SET allow_system_table_mods = on;
      ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO true_clock_timestamp;
      CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
        $$ SELECT pg_catalog.true_clock_timestamp() + by FROM stepped.step $$;
      CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,
                      created_at timestamptz NOT NULL DEFAULT clock_timestamp());
      CREATE INDEX ON t (created_at, id))");
    auto source = table("t");
    source.insert_latency = insert_latency;
    lane = std::make_unique<TestLane>(database, source);
    REQUIRE(lane->claim());
  }

  void open() {
    lane->open();
    REQUIRE(lane->claim());
  }
  void step(const std::string& by) {
    database.run("UPDATE stepped.step SET by = by + '" + by + "'");
  }
  void insert() { database.run("INSERT INTO t (payload) VALUES ('x')"); }

  /// Halted for its clock.
  bool refuses() {
    try {
      lane->poll();
    } catch (const SourceBroken& broken) {
      return broken.reason() == HaltReason::clock_back;
    }
    return false;
  }

  TestDatabase database;
  std::unique_ptr<TestLane> lane;
};

}  // namespace

// Minutes, so that what passes meanwhile is nothing next to them.

TEST_CASE("a clock stepped back by less than insert_latency loses nothing") {
  SteppedClock stage(std::chrono::minutes(10));
  stage.insert();
  stage.step("15 min");
  CHECK(stage.lane->deliver() == Ids{"1"});
  stage.insert();
  stage.step("-8 min");
  stage.insert();  // stamped before row 2, and after all that was delivered
  CHECK(stage.lane->deliver().empty());
  stage.step("30 min");
  CHECK(stage.lane->deliver() == Ids{"3", "2"});
}

TEST_CASE("steps back that are each less than insert_latency halt once they add up to more") {
  SteppedClock stage(std::chrono::minutes(10));
  stage.insert();
  stage.step("30 min");
  CHECK(stage.lane->deliver() == Ids{"1"});
  stage.step("-8 min");
  CHECK_FALSE(stage.refuses());
  stage.step("-8 min");
  stage.insert();  // it may lie behind one of twelve minutes ago
  CHECK(stage.refuses());
}

TEST_CASE("a clock set back by an hour halts, in the next session too, until it has caught up") {
  SteppedClock stage(milliseconds{5});
  stage.step("1 hour");
  stage.insert();
  CHECK(stage.lane->deliver() == Ids{"1"});
  stage.step("-1 hour");
  CHECK(stage.refuses());
  stage.open();
  CHECK(stage.refuses());
  stage.step("2 hours");
  stage.open();
  CHECK_FALSE(stage.refuses());
}

TEST_CASE("zones, date styles and languages of server and client change nothing") {
  OrderBy order = OrderBy::created_at;
  SUBCASE("created_at order") {}
  SUBCASE("id order") {
    order = OrderBy::id;
  }
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " + stamped +
               ", payload text); CREATE INDEX ON t (created_at, id); INSERT INTO t (created_at) "
               "VALUES ('2020-06-07 01:02:03.000004+00'), ('2020-10-25 02:30:00+02'), "
               "('2020-10-25 02:30:00+01')");
  const auto name = database.name();
  database.run("ALTER DATABASE " + name + " SET TimeZone = 'Asia/Kathmandu'; ALTER DATABASE " +
               name + " SET DateStyle = 'German, DMY'; ALTER DATABASE " + name +
               " SET extra_float_digits = -15; ALTER DATABASE " + name +
               " SET lc_messages = 'C'; ALTER DATABASE " + name +
               " SET IntervalStyle = 'iso_8601'");
  setenv("PGTZ", "America/St_Johns", 1);
  setenv("PGDATESTYLE", "SQL, MDY", 1);
  setenv("TZ", "Pacific/Apia", 1);
  Opened opened(database, table("t", order));
  for (const auto* variable : {"PGTZ", "PGDATESTYLE", "TZ"}) unsetenv(variable);
  const auto round = opened.lane.poll();
  REQUIRE(round.records.size() == 3);
  CHECK(round.records[0].position.created_at_us == 1'591'491'723'000'004);
  CHECK(round.records[1].position.created_at_us == 1'603'585'800'000'000);
  CHECK(round.records[2].position.created_at_us == 1'603'589'400'000'000);
  CHECK(opened.lane.advance(round));
  CHECK(opened.lane.poll().records.empty());  // the cursor came back as it was
  database.run("INSERT INTO t (payload) VALUES ('x')");
  CHECK(opened.lane.deliver() == Ids{"4"});
}

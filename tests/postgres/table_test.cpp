// A table that cannot be read as configured, from the start or from now on, says why.
#include <doctest/doctest.h>

#include "postgres/lane_fixture.hpp"
#include "postgres/least_role.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

/// What opening or polling such a source is refused with.
std::string refusal(TestDatabase& database, const SourceConfig& source) {
  try {
    TestLane lane(database, source);
    lane.claim();
    lane.poll();
  } catch (const SourceBroken& broken) {
    return std::string(to_string(broken.reason())) + ": " + broken.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a source that cannot be read as configured says why and how to fix it") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped + ", j jsonb, day timestamp)");
  auto source = table("t");
  SUBCASE("no such table") {
    source.table = "nowhere";
    CHECK(contains(refusal(database, source), "SOURCE_CHANGED: there is no table nowhere"));
  }
  SUBCASE("no such column") {
    source.id = "nr";
    CHECK(contains(refusal(database, source), "has no column nr; set `id`"));
  }
  SUBCASE("an id of a type without a text form that orders") {
    source.id = "j";
    CHECK(contains(refusal(database, source), "is jsonb; an id must be"));
  }
  SUBCASE("created_at without a time zone") {
    source.created_at = "day";
    CHECK(contains(refusal(database, source), "is timestamp; order_by = \"created_at\" needs"));
  }
  SUBCASE("an expression over a column that is not there") {
    source.payload = "t.nothing";
    CHECK(contains(refusal(database, source), "(SQLSTATE 42703)"));
  }
  SUBCASE("a where that is no condition") {
    source.where = "id";
    CHECK(contains(refusal(database, source), "(SQLSTATE 42804)"));
  }
  SUBCASE("id order on text") {
    source.id = "name";
    source.order_by = OrderBy::id;
    database.run("ALTER TABLE t ADD name text");
    CHECK(contains(refusal(database, source), "use order_by = \"created_at\""));
  }
}

TEST_CASE("id order reads a created_at without a time zone as UTC") {
  TestDatabase database;
  database.run(
      "CREATE TABLE t (id bigint PRIMARY KEY, created_at timestamp NOT NULL); INSERT INTO t "
      "VALUES (1, '1970-01-01 00:00:01')");
  Opened opened(database, table("t", OrderBy::id));
  CHECK(opened.lane.poll().records.at(0).position.created_at_us == 1'000'000);
}

TEST_CASE("a missing schema names the command that installs it") {
  SqlSession(shared_server().url()).run("CREATE DATABASE bare");
  const auto url = shared_server().url("bare");
  SqlSession(url).run("CREATE TABLE t (id int PRIMARY KEY, " + stamped + ")");
  Waker waker;
  ProcessConfig config;
  config.name = "process";
  runtime::LaneSession lane(*postgres_source(url, table("t")), {"process", 0, 1}, config, "relay",
                            waker);
  CHECK_THROWS_WITH_AS(lane.claim(), doctest::Contains("run `seriatim init`"), SourceBroken);
}

TEST_CASE("a change of the table between rounds is a clear halt") {  // FAULTS 9, 14
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped + ", payload text)");
  Opened opened(database, table("t"));
  opened.lane.poll();
  std::string change;
  std::string says;
  SUBCASE("dropped") {
    change = "DROP TABLE t";
    says = "was dropped, renamed or replaced";
  }
  SUBCASE("replaced by one of the same name") {
    change = "ALTER TABLE t RENAME TO old; CREATE TABLE t (LIKE old)";
    says = "was dropped, renamed or replaced";
  }
  SUBCASE("a column renamed") {
    change = "ALTER TABLE t RENAME payload TO body";
    says = "(SQLSTATE 42703)";
  }
  database.run(change);
  try {
    opened.lane.poll();
    FAIL("it was read");
  } catch (const SourceBroken& broken) {
    CHECK(broken.reason() == HaltReason::source_changed);
    CHECK(contains(broken.what(), says));
  }
  // The session is still of use: the halt is written down.
  CHECK(opened.lane.settle(
      {opened.lane.cursor.position, {}, {}, Halt{HaltReason::source_changed, {"", says}}}));
}

TEST_CASE("rows of a table put in another's place are never read, though no lock is asked for") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " + stamped +
               ", payload text); INSERT INTO t (payload) VALUES ('old')");
  auto source = table("t");
  SUBCASE("id order: ids go on without a hole") {
    source.order_by = OrderBy::id;
  }
  SUBCASE("the bare latency guard") {
    source.guard = Guard::latency;
  }
  Opened opened(database, source);
  REQUIRE(opened.lane.deliver() == Ids{"1"});
  database.run(
      "INSERT INTO t (payload) VALUES ('left behind'); ALTER TABLE t RENAME TO old;"
      "CREATE TABLE t (LIKE old INCLUDING ALL); ALTER TABLE t ALTER id RESTART WITH 2;"
      "INSERT INTO t (payload) VALUES ('new')");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::string halt;
  while (halt.empty() && std::chrono::steady_clock::now() < deadline) {
    try {
      const auto read = ids_of(opened.lane.poll());
      REQUIRE(read.empty());
    } catch (const SourceBroken& broken) {
      halt = broken.what();
    }
  }
  CHECK(contains(halt, "was dropped, renamed or replaced"));
}

TEST_CASE("row-level security switched on at run time halts, and hides no row silently") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    TestDatabase database;
    database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " + stamped +
                 "); INSERT INTO t DEFAULT VALUES");
    const LeastRole role(database, "t");
    TestLane lane(role.url(), table("t", order));
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver() == Ids{"1"});
    database.run(
        "INSERT INTO t DEFAULT VALUES; INSERT INTO t DEFAULT VALUES;"
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE POLICY part ON t USING (id <> 2)");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::string halt;
    while (halt.empty() && std::chrono::steady_clock::now() < deadline) {
      try {
        const auto read = ids_of(lane.poll());
        REQUIRE(read.empty());
      } catch (const SourceBroken& broken) {
        halt = broken.what();
      }
    }
    CHECK(contains(halt, "row-level security of table"));
    std::string fix;
    try {
      lane.open();
    } catch (const SourceBroken& broken) {
      fix = broken.what();
    }
    CAPTURE(fix);
    REQUIRE(contains(fix, "row-level security hides rows"));
    database.run(fix.substr(fix.find("CREATE POLICY")));
    lane.open();
    REQUIRE(lane.claim());
    CHECK(lane.deliver() == Ids{"2", "3"});
  }
}

TEST_CASE("SELECT revoked at run time halts with its SQLSTATE") {  // FAULTS 14
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
               "); "
               "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON t TO reader");
  auto url = database.url();
  url.replace(url.find("postgres@"), 9, "reader@");
  Waker waker;
  ProcessConfig config;
  config.name = "process";
  runtime::LaneSession lane(*postgres_source(url, table("t")), {"process", 0, 1}, config, "relay",
                            waker);
  CHECK(lane.poll(std::nullopt, 1).records.empty());
  database.run("REVOKE SELECT ON t FROM reader");
  CHECK_THROWS_WITH_AS(lane.poll(std::nullopt, 1), doctest::Contains("(SQLSTATE 42501)"),
                       SourceBroken);
}

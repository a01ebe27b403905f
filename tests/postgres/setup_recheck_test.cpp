// FAULTS 9, 14: what start-up has checked is broken under a lane that runs.
#include "postgres/admin/check/setup_recheck.hpp"

#include <doctest/doctest.h>

#include <atomic>

#include "postgres/admin/check/check.hpp"
#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"
#include "postgres/source.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

const std::string plain_table =
    "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " + stamped +
    "); CREATE INDEX ON t (created_at, id)";
const std::string partitioned_table =
    "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, " + stamped +
    ", PRIMARY KEY (created_at, id)) PARTITION BY RANGE (created_at);"
    "CREATE TABLE t_now PARTITION OF t FOR VALUES FROM ('2020-01-01') TO ('2120-01-01')";

/// A lane that checks its table's set-up at every poll.
struct WatchedLane {
  WatchedLane(const std::string& url, const SourceConfig& source) : lane(url, source) {
    lane.source = postgres::make_source(url, source, {.recheck_interval = 0ms});
    open();
  }
  void open() {
    lane.open();
    REQUIRE(lane.claim());
  }
  /// What the lane would halt with; empty: it reads.
  std::string refusal() {
    try {
      lane.poll();
    } catch (const SourceBroken& broken) {
      CHECK(broken.reason() == HaltReason::source_changed);
      return broken.what();
    }
    return "";
  }
  TestLane lane;
};

struct Change {
  std::string table;
  OrderBy order;
  std::string change;
  std::string says;
  std::string fix;
};

const std::vector<Change> unsound{
    {plain_table, OrderBy::created_at, "ALTER TABLE t SET UNLOGGED",
     "public.t is unlogged: a crash of the server empties it", "ALTER TABLE t SET LOGGED"},
    {plain_table, OrderBy::created_at, "ALTER TABLE t ALTER created_at SET DEFAULT now()",
     "public.t.created_at defaults to now(), the transaction's start",
     "ALTER TABLE t ALTER created_at SET DEFAULT clock_timestamp()"},
    {plain_table, OrderBy::created_at, "ALTER TABLE t DROP CONSTRAINT t_pkey",
     "public.t.id is not unique", "ALTER TABLE t ADD PRIMARY KEY (id)"},
    {plain_table, OrderBy::id, "ALTER SEQUENCE t_id_seq CACHE 20", "public.t_id_seq has CACHE 20",
     "ALTER SEQUENCE t_id_seq CACHE 1"},
    {plain_table, OrderBy::id, "ALTER SEQUENCE t_id_seq INCREMENT BY 2",
     "public.t_id_seq has INCREMENT 2", "ALTER SEQUENCE t_id_seq INCREMENT BY 1"},
    {plain_table, OrderBy::id, "ALTER SEQUENCE t_id_seq CYCLE", "public.t_id_seq has CYCLE",
     "ALTER SEQUENCE t_id_seq NO CYCLE"},
    {plain_table, OrderBy::created_at, "CREATE TABLE child () INHERITS (t)",
     "public.t has inheritance children", "DROP TABLE child"},
    {partitioned_table, OrderBy::created_at,
     "CREATE UNLOGGED TABLE t_old (LIKE t);"
     "ALTER TABLE t ATTACH PARTITION t_old FOR VALUES FROM ('2019-01-01') TO ('2020-01-01')",
     "public.t_old is unlogged", "ALTER TABLE t DETACH PARTITION t_old"},
    // PostgreSQL attaches a foreign one only where no unique index is in the way.
    {partitioned_table, OrderBy::created_at,
     "ALTER TABLE t DROP CONSTRAINT t_pkey;"
     "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
     "CREATE FOREIGN TABLE far PARTITION OF t FOR VALUES FROM ('2019-01-01') TO ('2020-01-01') "
     "SERVER s",
     "public.far is a foreign table",
     "DROP FOREIGN TABLE far; ALTER TABLE t ADD PRIMARY KEY (created_at, id)"},
    {partitioned_table, OrderBy::created_at, "ALTER TABLE t_now ALTER created_at SET DEFAULT now()",
     "public.t_now.created_at defaults to",
     "ALTER TABLE t_now ALTER created_at SET DEFAULT clock_timestamp()"}};

}  // namespace

TEST_CASE("a standby refuses a table that became unsound before it read a row") {
  TestDatabase database;
  database.run(plain_table);
  WatchedLane standby(database.url(), table("t", OrderBy::created_at));
  database.run("ALTER TABLE t SET UNLOGGED");
  CHECK(contains(standby.refusal(), "public.t is unlogged"));
  database.run("ALTER TABLE t SET LOGGED");
  CHECK(standby.refusal() == "");
}

TEST_CASE("a table that becomes unsound under a lane is refused in the words of check") {
  for (const auto& row : unsound) {
    CAPTURE(row.change);
    TestDatabase database;
    database.run(row.table);
    const auto source = table("t", row.order);
    WatchedLane watched(database.url(), source);
    REQUIRE(watched.refusal() == "");
    database.run(row.change);
    const auto said = watched.refusal();
    CHECK(contains(said, row.says));
    CHECK(contains(
        said, postgres::refusals(postgres::check(database.url(), {watched.lane.config, source}))));
    CHECK(watched.refusal() == said);  // and again, as long as it is so
    watched.open();                    // … in the next session too
    CHECK(watched.refusal() == said);
    database.run(row.fix);
    CHECK(watched.refusal() == "");
  }
}

TEST_CASE("row-level security that comes to hide rows under a lane is refused") {
  TestDatabase database;
  database.run(plain_table);
  const LeastRole role(database, "t");
  WatchedLane watched(role.url(), table("public.t"));
  REQUIRE(watched.refusal() == "");
  database.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY");
  CHECK(contains(watched.refusal(), "row-level security hides rows of public.t from role"));
  database.run("CREATE POLICY all_rows ON t FOR SELECT TO " + role.name() + " USING (true)");
  watched.open();  // its statements know of the policy
  CHECK(watched.refusal() == "");
  database.run("CREATE POLICY few ON t AS RESTRICTIVE FOR SELECT USING (id > 5)");
  CHECK(contains(watched.refusal(), "row-level security hides rows"));
}

TEST_CASE("changes that leave the table sound do not hold the lane up") {
  TestDatabase database;
  database.run(partitioned_table);
  WatchedLane watched(database.url(), table("t"));
  for (const auto* change :
       {"ALTER TABLE t ADD more text", "CREATE INDEX ON t (more)",
        "ALTER SEQUENCE t_id_seq CACHE 7",
        "CREATE TABLE t_old PARTITION OF t FOR VALUES FROM ('2019-01-01') TO ('2020-01-01')",
        "DROP TABLE t_old", "INSERT INTO t DEFAULT VALUES"}) {
    CAPTURE(change);
    database.run(change);
    CHECK(watched.refusal() == "");
  }
}

TEST_CASE("a default that lets rows come late is no matter where late rows are delivered") {
  TestDatabase database;
  database.run(plain_table);
  auto source = table("t");
  source.late_rows = OnLateRow::deliver;
  WatchedLane watched(database.url(), source);
  REQUIRE(watched.refusal() == "");
  database.run("ALTER TABLE t ALTER created_at SET DEFAULT now()");
  CHECK(watched.refusal() == "");
}

TEST_CASE("a change while the lane had no session is found by the next one") {
  TestDatabase database;
  database.run(plain_table);
  TestLane lane(database, table("t"));  // as users open it
  REQUIRE(lane.claim());
  lane.poll();
  database.run("ALTER TABLE t SET UNLOGGED");
  CHECK_NOTHROW(lane.poll());  // a minute has not passed: no poll asks
  lane.open();
  REQUIRE(lane.claim());
  CHECK_THROWS_WITH_AS(lane.poll(), doctest::Contains("is unlogged"), SourceBroken);
}

TEST_CASE("a busy lane that reads ahead halts with SOURCE_CHANGED, and goes on once it is undone") {
  TestDatabase database;
  database.run(plain_table);
  database.run("INSERT INTO t SELECT FROM generate_series(1, 300)");
  ProcessConfig config;
  config.name = "p";
  config.batch_rows = 10;
  config.commit_every = 10;
  config.read_ahead = true;
  const auto source = table("t");
  DeliveryLog log;
  std::atomic<bool> read = false;
  InProcessRelay relay(
      postgres::make_source(database.url(), source, {.recheck_interval = 0ms}), config,
      handler_from([&](const Record& record) {
        if (record.id() == "100") {
          // The next batch is read, so that the lane could go on without a poll.
          read = database.becomes_true(
              "SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'seriatim/p/0' "
              "AND state = 'idle'");
          database.run("ALTER TABLE t ALTER created_at SET DEFAULT now()");
        }
        log.add(record);
        return Outcome::done();
      }));
  REQUIRE(relay.status->wait_for([](const LaneStatus& lane) {
    return lane.state == LaneState::halted && lane.reason == HaltReason::source_changed;
  }));
  CHECK(read);
  CHECK(log.size() == 100);
  CHECK(contains(database.value("SELECT detail FROM seriatim.cursor"),
                 "ALTER TABLE public.t ALTER COLUMN created_at SET DEFAULT clock_timestamp()"));
  database.run("ALTER TABLE t ALTER created_at SET DEFAULT clock_timestamp()");
  postgres::Admin(database.url()).retry({config, source}, alice);
  CHECK(log.wait_for_rows(300));
  relay.stop();
  CHECK(log.size() == 300);
}

// Partitions: whole ones go at once, and the next ones are there before they are needed.
#include <doctest/doctest.h>

#include "postgres/admin/check/check.hpp"
#include "postgres/admin/migrate.hpp"
#include "postgres/admin/prune/prune.hpp"
#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"
#include "postgres/pruned_desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::PruneChoice;
using postgres::PruneReport;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

/// Three days of 100 rows each, two days, one day and no day ago, all delivered.
struct Days {
  TestDatabase database;
  Target target;
  postgres::Admin admin{database.url()};

  explicit Days(OrderBy order = OrderBy::created_at) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, created_at timestamptz NOT NULL "
        "DEFAULT clock_timestamp(), payload text, PRIMARY KEY (id, created_at)) "
        "PARTITION BY RANGE (created_at);"
        "CREATE INDEX ON t (created_at, id);"
        "CREATE TABLE rest PARTITION OF t DEFAULT");
    for (const auto* day : {"2", "1", "0"}) {
      database.run("DO $$ DECLARE day timestamptz := date_trunc('day', now()) - interval '" +
                   std::string(day) + " days'; BEGIN EXECUTE format('CREATE TABLE day" + day +
                   " PARTITION OF t FOR VALUES FROM (%L) TO (%L)', day, day + interval '1 day'); "
                   "INSERT INTO t (created_at, payload) SELECT day + n * interval '1 ms', 'x' FROM "
                   "generate_series(1, 100) AS n; END $$");
    }
    target.process.name = "process";
    target.process.handler_deadline = milliseconds{200};
    target.source = table("t", order);
    deliver("process", 300);
  }

  void deliver(const std::string& process, unsigned rows) {
    TestLane relay(database, target.source, "relay of " + process, {process, 0, 1});
    REQUIRE(relay.claim());
    for (unsigned done = 0; done < rows;) {
      const auto ids = relay.deliver(std::min(20U, rows - done));
      if (ids.empty()) break;
      done += static_cast<unsigned>(ids.size());
    }
    relay.session->release(relay.cursor.epoch, false);
  }

  PruneReport prune(PruneChoice choice = {}, const postgres::PrunePause& pause = go_on) {
    choice.older_than = milliseconds{0};
    return postgres::prune(database.url(), {target}, choice, alice, pause).front();
  }
  std::string partitions() {
    return database.value(
        "SELECT string_agg(inhrelid::regclass::text, ' ' ORDER BY inhrelid::regclass::text) FROM "
        "pg_inherits"
        " WHERE inhparent = 't'::regclass");
  }
  postgres::LaneAudit audit() {
    return admin.audit(target, false, [](std::uint64_t) {}).front();
  }
};

/// The ready-made outbox, partitioned.
struct Outbox {
  TestDatabase database;
  explicit Outbox(const std::string& step = "daily") {
    database.run("CREATE ROLE producer_" + database.name());
    database.run("GRANT INSERT, SELECT (id) ON seriatim.outbox TO producer_" + database.name());
    postgres::partition_outbox(database.url(), step);
  }
  ~Outbox() {
    database.run("DROP OWNED BY producer_" + database.name() + "; DROP ROLE producer_" +
                 database.name());
  }
  void append(int rows) {
    database.run("SELECT seriatim.append('a', 'b', 'c', '{}') FROM generate_series(1, " +
                 std::to_string(rows) + ")");
  }
  std::string where() {
    return database.value(
        "SELECT string_agg(DISTINCT tableoid::regclass::text, ' ') FROM seriatim.outbox");
  }
  Target target() const {
    Target target;
    target.process.name = "process";
    target.source.insert_latency = milliseconds{0};
    return target;
  }
};

}  // namespace

TEST_CASE(
    "partitions below every cursor go as a whole, the rest row by row, and the audit stays "
    "complete") {
  BOTH_ORDERS
  Days days(order);
  PruneChoice choice;
  choice.dry_run = true;
  const auto counted = days.prune(choice);
  CHECK(counted.rows == 299);
  CHECK(counted.partitions == std::vector<std::string>{"public.day2", "public.day1"});
  CHECK(days.partitions() == "day0 day1 day2 rest");
  const auto report = days.prune();
  CHECK(report.rows == counted.rows);
  CHECK(report.partitions == counted.partitions);
  CHECK(days.partitions() == "day0 rest");
  CHECK(days.database.value("SELECT count(*) FROM t") == "1");
  const auto audit = days.audit();
  CHECK(audit.sound());
  CHECK(audit.pruned == 299);
  CHECK(audit.gone == 0);
  CHECK(days.database.value(
            "SELECT detail->>'partitions' FROM seriatim.journal WHERE act = 'pruned'") ==
        "[\"public.day2\", \"public.day1\"]");
}

TEST_CASE("detached partitions stay as tables with their rows") {
  Days days;
  PruneChoice choice;
  choice.detach = true;
  CHECK(days.prune(choice).partitions.size() == 2);
  CHECK(days.partitions() == "day0 rest");
  CHECK(days.database.value("SELECT count(*) FROM day1") == "100");
}

TEST_CASE("a partition that a lagging process has not passed stays") {
  BOTH_ORDERS
  Days days(order);
  days.deliver("second", 150);
  const auto report = days.prune();
  CHECK(report.partitions == std::vector<std::string>{"public.day2"});
  CHECK(report.rows == 149);
  CHECK(days.partitions() == "day0 day1 rest");
}

TEST_CASE("a partition with a parked row, or with a late one, stays") {
  Days days;
  SUBCASE("parked") {
    days.database.run(
        "INSERT INTO seriatim.aside (process_name, row_id, lane, position_at, state, head, "
        "parked_at) SELECT 'process', '17', 0, created_at, 'parked', true, now() FROM t WHERE id = "
        "17");
    CHECK(days.prune().rows == 298);
  }
  SUBCASE("late") {
    days.database.run("INSERT INTO t (created_at) SELECT created_at FROM t WHERE id = 17");
    CHECK(days.prune().late == 1);
  }
  CHECK(days.partitions() == "day0 day2 rest");
  CHECK(days.database.value("SELECT count(*) FROM day2") == "1");
}

TEST_CASE("a late row that comes between the check and the drop keeps the partition") {
  Days days;
  bool came = false;
  const auto report = days.prune({}, [&](std::uint64_t, microseconds) {
    if (!std::exchange(came, true)) {
      days.database.run("INSERT INTO t (created_at) SELECT created_at FROM t WHERE id = 17");
    }
    return true;
  });
  CHECK(report.late == 1);
  CHECK(days.database.value("SELECT count(*) FROM day2") == "1");
}

TEST_CASE("who uses the table for long is named, and nothing waits behind the drop for long") {
  Days days;
  auto reader = days.database.connect("a long report");
  reader.run("BEGIN; SELECT count(*) FROM t");
  microseconds waited{0};
  const auto report = days.prune({}, [&](std::uint64_t, microseconds pause) {
    waited += pause;
    days.database.run("SET statement_timeout = '5s'; INSERT INTO t (payload) VALUES ('y')");
    return true;
  });
  CHECK(report.partitions.empty());
  REQUIRE(report.notes.size() == 1);
  CHECK(contains(report.notes[0], "(a long report) has been using the table"));
  CHECK(days.partitions() == "day0 day1 day2 rest");
  CHECK(waited > microseconds{0});
  reader.run("COMMIT");
  CHECK(days.prune().partitions.size() == 2);
}

TEST_CASE("partitions by id go once ids above them are drawn") {
  TestDatabase database;
  database.run(
      "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, created_at timestamptz "
      "NOT NULL DEFAULT clock_timestamp()) PARTITION BY RANGE (id);"
      "CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (1) TO (101);"
      "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (101) TO (201);"
      "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (201) TO (301);"
      "INSERT INTO t SELECT FROM generate_series(1, 200)");
  Target target;
  target.process.name = "process";
  target.source = table("t", OrderBy::id);
  Opened opened(database, target.source);
  while (!opened.lane.deliver().empty()) {
  }
  PruneChoice choice;
  choice.older_than = milliseconds{0};
  const auto report = postgres::prune(database.url(), {target}, choice, alice, go_on).front();
  CHECK(report.partitions == std::vector<std::string>{"public.t0"});
  CHECK(report.rows == 199);
  database.run("INSERT INTO t SELECT FROM generate_series(1, 50)");
  CHECK(opened.lane.deliver().size() == 50);
}

TEST_CASE("the ready-made outbox becomes partitioned with what was granted, and check accepts it") {
  Outbox outbox;
  outbox.append(3);
  CHECK(contains(outbox.where(), "outbox_2"));
  CHECK(outbox.database.value(
            "SELECT has_table_privilege('producer_" + outbox.database.name() +
            "', 'seriatim.outbox', 'INSERT') AND has_column_privilege('producer_" +
            outbox.database.name() + "', 'seriatim.outbox', 'id', 'SELECT')") == "t");
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    auto target = outbox.target();
    target.source.order_by = order;
    const auto findings = postgres::check(outbox.database.url(), target, {});
    CHECK(postgres::refusals(findings) == "");
    bool reported = false;
    for (const auto& finding : findings)
      reported = reported || contains(finding.what, "partitions: 14 ahead, daily");
    CHECK(reported);
  }
  Opened opened(outbox.database, outbox.target().source);
  CHECK(opened.lane.deliver().size() == 3);
  CHECK_THROWS_WITH_AS(
      [] {
        TestDatabase used;
        used.run("SELECT seriatim.append('a', 'b', 'c', '{}')");
        postgres::partition_outbox(used.url(), "daily");
      }(),
      doctest::Contains("seriatim.outbox holds rows"), Error);
}

TEST_CASE("where creation fell behind no insert fails: the default partition takes the rows") {
  Outbox outbox("hourly");
  outbox.database.run(
      "DO $$ DECLARE name text; BEGIN FOR name IN SELECT inhrelid::regclass::text FROM pg_inherits "
      "WHERE inhparent = 'seriatim.outbox'::regclass AND inhrelid::regclass::text NOT LIKE "
      "'%default' "
      "LOOP EXECUTE 'DROP TABLE ' || name; END LOOP; END $$");
  outbox.append(5);
  CHECK(outbox.where() == "seriatim.outbox_default");
  const auto warned = [&] {
    std::string text;
    for (const auto& finding : postgres::check(outbox.database.url(), outbox.target(), {})) {
      if (finding.severity == postgres::Finding::Severity::warning) text += finding.what + '\n';
    }
    return text;
  };
  CHECK(contains(warned(), "no partition of seriatim.outbox is created for the time after"));
  CHECK(contains(warned(), "the default partition of seriatim.outbox holds rows"));
  const auto created = postgres::create_partitions(outbox.database.url());
  CHECK(created.size() == 48);  // all but the hour that the default one holds rows of
  CHECK(postgres::create_partitions(outbox.database.url()).empty());
  outbox.append(1);
  CHECK_FALSE(contains(warned(), "no partition of"));
  Opened opened(outbox.database, outbox.target().source);
  CHECK(opened.lane.deliver().size() == 6);
  PruneChoice choice;
  choice.older_than = milliseconds{0};
  const auto report =
      postgres::prune(outbox.database.url(), {outbox.target()}, choice, alice, go_on).front();
  CHECK(report.rows == 5);
}

TEST_CASE("prune creates the next partitions, and the relay's role may have them created") {
  Outbox outbox;
  Opened opened(outbox.database, outbox.target().source);
  outbox.append(2);
  CHECK(opened.lane.deliver().size() == 2);
  const auto newest = outbox.database.value(
      "SELECT max(inhrelid::regclass::text) FILTER (WHERE inhrelid::regclass::text NOT LIKE "
      "'%default') "
      "FROM pg_inherits WHERE inhparent = 'seriatim.outbox'::regclass");
  outbox.database.run("DROP TABLE " + newest);
  PruneChoice choice;
  const auto report =
      postgres::prune(outbox.database.url(), {outbox.target()}, choice, alice, go_on).front();
  CHECK(report.created == std::vector<std::string>{newest});
  outbox.database.run("DROP TABLE " + newest);
  LeastRole role(outbox.database, "seriatim.outbox");
  CHECK(postgres::create_partitions(role.url()) == std::vector<std::string>{newest});
  outbox.database.run("REVOKE EXECUTE ON FUNCTION seriatim.create_partitions() FROM " +
                      role.name());
  CHECK_THROWS_AS(postgres::create_partitions(role.url()), Error);
}

TEST_CASE("creation does not wait for readers of the default partition, and is tried again later") {
  Outbox outbox;
  auto reader = outbox.database.connect("report");
  const auto newest = outbox.database.value(
      "SELECT max(inhrelid::regclass::text) FILTER (WHERE inhrelid::regclass::text NOT LIKE "
      "'%default') "
      "FROM pg_inherits WHERE inhparent = 'seriatim.outbox'::regclass");
  outbox.database.run("DROP TABLE " + newest);
  reader.run("BEGIN; SELECT count(*) FROM seriatim.outbox");
  CHECK_THROWS_AS(postgres::create_partitions(outbox.database.url()), Error);
  reader.run("COMMIT");
  CHECK(postgres::create_partitions(outbox.database.url()).size() == 1);
}

// Which rows of a table are read, and in which order.
#include <doctest/doctest.h>

#include <future>
#include <map>

#include "postgres/lane_fixture.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::testing;

TEST_CASE("rows of the ready-made outbox carry type, headers and the payload's own bytes") {
  TestDatabase database;
  database.run(
      "SELECT seriatim.append('booking', '7', 'booked', '{\"b\": 1,   \"a\":1e400}', "
      "'{\"traceparent\": \"00-1\", \"n\": 12345678901234567890, \"none\": null}')");
  Opened opened(database, {});
  const auto round = opened.lane.poll();
  REQUIRE(round.records.size() == 1);
  const auto& record = round.records[0];
  CHECK(record.event_type == "booked");
  CHECK(record.payload == "{\"b\": 1,   \"a\":1e400}");
  CHECK_FALSE(record.key.has_value());
  CHECK(record.headers ==
        std::vector<Header>{{"n", "12345678901234567890"}, {"none", ""}, {"traceparent", "00-1"}});
}

TEST_CASE("without a payload column the whole row is the payload") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped + ", phone text)");
  database.run("INSERT INTO t VALUES (1, '2020-01-01 00:00:00.000001+00', '+45')");
  Opened opened(database, table("t"));
  const auto round = opened.lane.poll();
  REQUIRE(round.records.size() == 1);
  CHECK(round.records[0].payload ==
        R"({"id": 1, "phone": "+45", "created_at": "2020-01-01T00:00:00.000001+00:00"})");
  CHECK(round.records[0].position.created_at_us == 1577836800000001);
}

TEST_CASE("ids of every allowed type are delivered once, ties by the database's order") {
  TestDatabase database;
  std::string type;
  std::string ids;
  Ids expected;
  SUBCASE("uuid") {
    type = "uuid";
    ids =
        "('ffffffff-0000-0000-0000-000000000000'), ('00000000-0000-0000-0000-00000000000a'), "
        "('00000000-0000-0000-0000-00000000000f')";
    expected = {"00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000f",
                "ffffffff-0000-0000-0000-000000000000"};
  }
  SUBCASE("text") {
    type = "text";
    ids = "('b'), ('A'), ('ü, {\"}'), ('')";
    expected = {"", "A", "b", "ü, {\"}"};
  }
  SUBCASE("varchar") {
    type = "varchar(9)";
    ids = "('b'), ('''a'), ('c')";
    expected = {"'a", "b", "c"};
  }
  SUBCASE("smallint") {
    type = "smallint";
    ids = "(2), (-1), (10)";
    expected = {"-1", "2", "10"};
  }
  SUBCASE("bigint at its ends") {
    type = "bigint";
    ids = "(9223372036854775807), (0), (-9223372036854775808)";
    expected = {"-9223372036854775808", "0", "9223372036854775807"};
  }
  database.run("CREATE TABLE t (id " + type +
               " PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT "
               "'2020-01-01', done_at timestamptz); INSERT INTO t (id) VALUES " +
               ids);
  auto source = table("t");
  source.delivered_at_column = "done_at";
  Opened opened(database, source);
  Ids got;
  for (auto ids_got = opened.lane.deliver(1); !ids_got.empty(); ids_got = opened.lane.deliver(1)) {
    got.push_back(ids_got[0]);
  }
  CHECK(got == expected);
  CHECK(opened.lane.cursor.sequence == expected.size());
  CHECK(database.value("SELECT count(*) FROM t WHERE done_at IS NULL") == "0");
}

TEST_CASE("id order reaches both ends of bigint") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint PRIMARY KEY, " + stamped +
               "); INSERT INTO t (id) VALUES "
               "(9223372036854775807), (0), (-5), (9223372036854775806)");
  Opened opened(database, table("t", OrderBy::id));
  CHECK(opened.lane.deliver() == Ids{"-5", "0", "9223372036854775806", "9223372036854775807"});
  CHECK(opened.lane.deliver().empty());
}

TEST_CASE("stamps centuries away keep their microseconds") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
               "); INSERT INTO t VALUES "
               "(1, '4713-01-01 00:00:00.000001+00 BC'), (2, '0001-12-31 23:59:59.999999+00 BC'), "
               "(3, '1969-12-31 23:59:59.999999+00'), (4, '2000-02-29 12:00:00.5+00')");
  Opened opened(database, table("t"));
  Ids got;
  for (auto ids = opened.lane.deliver(1); !ids.empty(); ids = opened.lane.deliver(1)) {
    got.push_back(ids[0]);
    CHECK(database.value("SELECT t.created_at = c.position_at FROM t, seriatim.cursor AS c WHERE "
                         "t.id::text = c.position_id") == "t");
  }
  CHECK(got == Ids{"1", "2", "3", "4"});
}

TEST_CASE("where, key and payload may be columns or expressions over t") {
  TestDatabase database;
  database.run(
      "CREATE TABLE t (id int PRIMARY KEY, " + stamped +
      ", status text, customer int, n int);"
      "INSERT INTO t (id, status, customer, n) VALUES (1, 'draft', 7, 1), (2, 'booked', 8, 2), "
      "(3, 'booked', NULL, NULL)");
  auto source = table("t");
  source.where = "t.status = 'booked' -- only these";
  source.key = "customer";
  source.payload = "jsonb_build_object('n', t.n, 'brace', '{id}') -- a comment";
  source.event_type = "'kind ' || status";
  source.headers = "jsonb_build_object('X', id)";
  Opened opened(database, source);
  const auto round = opened.lane.poll();
  REQUIRE(ids_of(round) == Ids{"2", "3"});
  CHECK(round.records[0].key == "8");
  CHECK_FALSE(round.records[1].key.has_value());
  CHECK(round.records[0].payload == R"({"n": 2, "brace": "{id}"})");
  CHECK(round.records[0].event_type == "kind booked");
  CHECK(round.records[0].headers == std::vector<Header>{{"X", "2"}});
}

TEST_CASE("rows that do not match are not scanned again, and later ones that do are found") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " + stamped +
               ", wanted bool); CREATE INDEX ON t (created_at, id)");
  auto order = OrderBy::created_at;
  SUBCASE("created_at order") {}
  SUBCASE("id order") {
    order = OrderBy::id;
  }
  auto source = table("t", order);
  source.where = "wanted";
  Opened opened(database, source);
  database.run("INSERT INTO t (wanted) SELECT i = 300 FROM generate_series(1, 1000) AS i");
  CHECK(opened.lane.deliver(5) == Ids{"300"});
  CHECK(opened.lane.deliver(5).empty());
  database.run("INSERT INTO t (wanted) VALUES (false), (true), (true)");
  CHECK(opened.lane.deliver(1) == Ids{"1002"});
  CHECK(opened.lane.deliver(1) == Ids{"1003"});
}

TEST_CASE("rows of a filtered table that were read and not delivered are read again") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " + stamped +
               ", wanted bool); CREATE INDEX ON t (created_at, id)");
  auto order = OrderBy::created_at;
  SUBCASE("created_at order") {}
  SUBCASE("id order") {
    order = OrderBy::id;
  }
  auto source = table("t", order);
  source.where = "wanted";
  Opened opened(database, source);
  database.run("INSERT INTO t (wanted) SELECT true FROM generate_series(1, 5)");
  REQUIRE(ids_of(opened.lane.poll()) == Ids{"1", "2", "3", "4", "5"});
  CHECK(ids_of(opened.lane.poll()) == Ids{"1", "2", "3", "4", "5"});  // the first one failed
  CHECK(opened.lane.deliver(2) == Ids{"1", "2"});                     // the third one failed
  CHECK(ids_of(opened.lane.poll()) == Ids{"3", "4", "5"});
}

TEST_CASE("lanes share the rows by key, each key in one lane and in order") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " + stamped +
               ", customer text); INSERT INTO t (customer) SELECT nullif(i % 20, 0)::text FROM "
               "generate_series(1, 400) AS i");
  auto source = table("t");
  source.key = "customer";
  std::size_t total = 0;
  std::map<std::string, unsigned> lane_of;
  for (unsigned lane = 0; lane < 3; ++lane) {
    Opened opened(database, source, {"process", lane, 3});
    const auto round = opened.lane.poll(1000);
    total += round.records.size();
    for (const auto& record : round.records) {
      const auto key = record.key.value_or("NULL");
      CHECK(lane_of.emplace(key, lane).first->second == lane);
    }
  }
  CHECK(total == 400);
  CHECK(lane_of.at("NULL") == 0);
  CHECK(lane_of.size() == 20);
}

TEST_CASE("a mark is stamped in the cursor's transaction, or not at all") {
  TestDatabase database;
  database.run("CREATE TABLE t (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), " + stamped +
               ", \"Dispatched At\" timestamptz); INSERT INTO t SELECT FROM generate_series(1, 3)");
  auto source = table("t");
  source.delivered_at_column = "Dispatched At";
  Opened opened(database, source);
  auto& lane = opened.lane;
  const auto round = lane.poll();
  REQUIRE(round.records.size() == 3);
  const std::vector<Position> done{round.records[0].position, round.records[1].position};
  const auto marked = "SELECT count(*) FROM t WHERE \"Dispatched At\" IS NOT NULL";
  CHECK(lane.session->settle(9, {std::nullopt, done, {}, Rest{}}).grant == Grant::lost);
  CHECK(database.value(marked) == "0");
  CHECK(lane.settle({std::nullopt, done, {}, Rest{}}));
  CHECK(database.value(marked) == "2");
}

TEST_CASE("a row locked by its owner is waited for with its mark, not handed over again") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
               ", sent timestamptz); INSERT INTO t (id) VALUES (1)");
  auto source = table("t");
  source.delivered_at_column = "sent";
  Opened opened(database, source);
  auto& lane = opened.lane;
  const auto position = lane.poll().records.at(0).position;
  auto owner = database.connect();
  owner.run("BEGIN; SELECT FROM t FOR UPDATE");
  auto advanced = std::async(std::launch::async, [&] {
    return lane.settle({std::nullopt, {position}, {}, Rest{}});
  });
  // Longer than any other lock is waited for: giving up here would repeat what was delivered.
  CHECK(database.becomes_true(
      "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'seriatim/process/0' AND "
      "datname = current_database() AND wait_event_type = 'Lock' AND "
      "clock_timestamp() - query_start > interval '6 s'"));
  owner.run("COMMIT");
  CHECK(advanced.get());
  CHECK(database.value("SELECT position_id FROM seriatim.cursor") == "1");
  CHECK(database.value("SELECT sent IS NOT NULL FROM t") == "t");
}

TEST_CASE("names with quotes, dots, capitals, Unicode and 63 bytes are names only") {  // FAULTS 50
  TestDatabase database;
  const std::string nasty = "Æ.\"; drop table x; --" + std::string(41, 'N');
  const std::string quoted = "\"Æ.\"\"; drop table x; --" + std::string(41, 'N') + "\"";
  database.run(
      "CREATE TABLE x (n int); CREATE SCHEMA \"Dotted.Schema\"; CREATE TABLE "
      "\"Dotted.Schema\"." +
      quoted + " (" + quoted +
      " int PRIMARY KEY, \"Created At\" "
      "timestamptz DEFAULT clock_timestamp(), \"{id}\" text)");
  database.run("INSERT INTO \"Dotted.Schema\"." + quoted + " VALUES (1, DEFAULT, 'x')");
  auto source = table("\"Dotted.Schema\"." + quoted);
  source.id = nasty;
  source.created_at = "\"Created At\"";
  source.payload = "{id}";
  source.key = "\"{id}\"";
  Opened opened(database, source, {"'; drop table x; --", 0, 1});
  CHECK(opened.lane.poll().records.at(0).payload == "x");
  CHECK(opened.lane.deliver() == Ids{"1"});
  CHECK(database.value("SELECT count(*) FROM x") == "0");
}

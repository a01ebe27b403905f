// Payloads come exactly as stored, or the row is named (FAULTS 47).
#include <doctest/doctest.h>

#include "postgres/lane_fixture.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::testing;

TEST_CASE("payloads are delivered exactly as stored") {
  TestDatabase database;
  std::string type = "text";
  std::string stored;
  std::optional<std::string> expected;
  SUBCASE("NULL") {
    stored = "NULL";
  }
  SUBCASE("empty") {
    stored = "''";
    expected = "";
  }
  SUBCASE("byte order mark, emoji, right to left") {
    stored = "E'\\uFEFF\\U0001F600\\u202E\\u05D0'";
    expected = "\xEF\xBB\xBF\xF0\x9F\x98\x80\xE2\x80\xAE\xD7\x90";
  }
  SUBCASE("json keeps its blanks, its escapes and its doubled keys") {
    type = "json";
    stored = R"('{"a" : 1,"a":2, "z":"\u0000" }')";
    expected = R"({"a" : 1,"a":2, "z":"\u0000" })";
  }
  SUBCASE("jsonb numbers never pass through a double") {
    type = "jsonb";
    stored = R"('{"n": 1e40, "i": 9223372036854775808, "d": 0.10}')";
    expected =
        R"({"d": 0.10, "i": 9223372036854775808, "n": 10000000000000000000000000000000000000000})";
  }
  SUBCASE("bytea") {
    type = "bytea";
    stored = R"('\x00ff0a22')";
    expected = std::string("\0\xff\n\"", 4);
  }
  SUBCASE("a number") {
    type = "numeric";
    stored = "12.50";
    expected = "12.50";
  }
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped + ", payload " + type + ")");
  database.run("INSERT INTO t VALUES (1, DEFAULT, " + stored + ")");
  Opened opened(database, table("t"));
  const auto round = opened.lane.poll();
  REQUIRE(round.records.size() == 1);
  CHECK(round.records[0].payload == expected);
}

TEST_CASE("bytes of a database without an encoding are not judged") {
  SqlSession(shared_server().url())
      .run("CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'");
  const auto url = shared_server().url("ascii");
  install_schema(url);
  SqlSession session(url);
  session.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
              ", payload text);"
              "INSERT INTO t VALUES (1, DEFAULT, E'a\\377b')");
  Waker waker;
  ProcessConfig config;
  config.name = "process";
  runtime::LaneSession lane(*postgres_source(url, table("t")), {"process", 0, 1}, config, "relay",
                            waker);
  CHECK(lane.poll(std::nullopt, 10).records.at(0).payload ==
        "a\xff"
        "b");
}

TEST_CASE("a payload over payload_max is named once the rows before it are gone") {
  TestDatabase database;
  std::string type = "text";
  SUBCASE("text") {}
  SUBCASE("bytea") {
    type = "bytea";
  }
  database.run(
      "CREATE TABLE t (id int PRIMARY KEY, " + stamped + ", payload " + type +
      "); INSERT INTO t (id, payload) SELECT i, repeat('x', CASE WHEN i = 3 THEN 101 ELSE 100 "
      "END)::" +
      type + " FROM generate_series(1, 4) AS i");
  auto order = OrderBy::created_at;
  SUBCASE("created_at order") {}
  SUBCASE("id order") {
    order = OrderBy::id;
  }
  auto source = table("t", order);
  source.payload_max = 100;
  Opened opened(database, source);
  CHECK(opened.lane.deliver() == Ids{"1", "2"});
  const auto round = opened.lane.poll();
  CHECK(round.records.empty());
  REQUIRE(round.unreadable);
  CHECK(round.unreadable->row_id == "3");
  CHECK(round.unreadable->reason == HaltReason::bad_payload);
  CHECK(round.unreadable->detail == "its payload has 101 bytes, payload_max is 100");
}

TEST_CASE("what travels with the payload is bounded like it") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
               ", payload text, event_type text, headers jsonb);"
               "INSERT INTO t (id, payload, event_type, headers) SELECT i, 'x', repeat('e', 30), "
               "jsonb_build_object('h', repeat('x', CASE WHEN i = 4 THEN 100 ELSE 30 END)) "
               "FROM generate_series(1, 4) AS i");
  auto order = OrderBy::created_at;
  SUBCASE("created_at order") {}
  SUBCASE("id order") {
    order = OrderBy::id;
  }
  auto source = table("t", order);
  source.payload_max = 100;
  source.batch_bytes = 170;
  Opened opened(database, source);
  CHECK(opened.lane.deliver() == Ids{"1", "2"});
  CHECK(opened.lane.deliver() == Ids{"3"});
  const auto round = opened.lane.poll();
  CHECK(round.records.empty());
  REQUIRE(round.unreadable);
  CHECK(round.unreadable->row_id == "4");
  CHECK(contains(round.unreadable->detail, "key, event type and headers"));
  CHECK(contains(round.unreadable->detail, "payload_max is 100"));
}

TEST_CASE("a row comes whole, whichever of its parts is over its share of the batch") {
  TestDatabase database;
  std::string type = "text";
  SUBCASE("text") {}
  SUBCASE("bytea") {
    type = "bytea";
  }
  database.run("CREATE TABLE t (id serial PRIMARY KEY, " + stamped +
               ", key text, event_type text, headers jsonb, payload " + type +
               "); INSERT INTO t (key, event_type, headers, payload) SELECT repeat('k', k), "
               "repeat('e', e), jsonb_build_object('h', repeat('h', h)), repeat('p', p)::" +
               type +
               " FROM unnest(ARRAY[0, 30, 100]) AS k, unnest(ARRAY[0, 30, 100]) AS e, "
               "unnest(ARRAY[0, 30, 100]) AS h, unnest(ARRAY[0, 30, 60, 100, 200]) AS p");
  auto source = table("t", OrderBy::id);
  source.key = "key";
  source.batch_bytes = 1'000;  // 100 a row
  Opened opened(database, source);
  std::string sizes;
  for (auto round = opened.lane.poll(10); !round.records.empty(); round = opened.lane.poll(10)) {
    REQUIRE(opened.lane.advance(round));
    for (const auto& record : round.records) {
      for (const auto length :
           {record.key.value_or("-").size(), record.event_type.value_or("-").size(),
            record.headers.at(0).second.size(), record.payload.value_or("-").size()}) {
        sizes += std::to_string(length) + ' ';
      }
    }
  }
  CHECK(sizes ==
        database.value("SELECT string_agg(concat_ws(' ', length(key), length(event_type), "
                       "length(headers->>'h'), length(payload), ''), '' ORDER BY id) FROM t"));
}

TEST_CASE("a batch ends before its payloads pass batch_bytes, but has a row") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
               ", payload text); INSERT INTO t (id, payload) SELECT i, repeat('x', 100) FROM "
               "generate_series(1, 5) AS i");
  auto order = OrderBy::created_at;
  SUBCASE("created_at order") {}
  SUBCASE("id order") {
    order = OrderBy::id;
  }
  auto source = table("t", order);
  source.batch_bytes = 250;
  Opened opened(database, source);
  CHECK(opened.lane.deliver() == Ids{"1", "2"});
  source.batch_bytes = 10;
  Opened narrow(database, source, {"narrow", 0, 1});
  CHECK(narrow.lane.deliver() == Ids{"1"});
  CHECK(narrow.lane.deliver() == Ids{"2"});
}

TEST_CASE("a row without a place in the order is named once nothing else waits") {
  TestDatabase database;
  std::string stamp;
  SUBCASE("NULL") {
    stamp = "NULL";
  }
  SUBCASE("infinity") {
    stamp = "'infinity'";
  }
  SUBCASE("-infinity") {
    stamp = "'-infinity'";
  }
  SUBCASE("the end of PostgreSQL's time, beyond 64 bits of microseconds since 1970") {
    stamp = "'294276-12-31 UTC'";
  }
  database.run(
      "CREATE TABLE t (id int PRIMARY KEY, created_at timestamptz DEFAULT clock_timestamp()); "
      "INSERT INTO t (id) VALUES (1)");
  Opened opened(database, table("t"));
  CHECK(opened.lane.deliver() == Ids{"1"});
  database.run("INSERT INTO t VALUES (7, " + stamp + ")");
  const auto round = opened.lane.poll();
  REQUIRE(round.unreadable);
  CHECK(round.unreadable->row_id == "7");
  CHECK(round.unreadable->reason == HaltReason::bad_payload);
}

TEST_CASE("a row whose expression fails is named, after the rows before it") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
               ", n int); INSERT INTO t (id, n) VALUES "
               "(1, 5), (2, 2), (3, 0), (4, 1)");
  auto order = OrderBy::created_at;
  SUBCASE("created_at order") {}
  SUBCASE("id order") {
    order = OrderBy::id;
  }
  auto source = table("t", order);
  std::string says = "division by zero (SQLSTATE 22012)";
  source.payload = "(10 / n)";
  SUBCASE("by the server") {}
  SUBCASE("by a function's own words") {
    database.run(
        "CREATE FUNCTION nonzero(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "IF n = 0 THEN RAISE EXCEPTION 'no zeros here'; END IF; RETURN n; END $$");
    source.payload = "nonzero(n)";
    says = "no zeros here (SQLSTATE P0001)";
  }
  Opened opened(database, source);
  CHECK(opened.lane.deliver() == Ids{"1"});
  CHECK(opened.lane.deliver() == Ids{"2"});
  const auto round = opened.lane.poll();
  REQUIRE(round.unreadable);
  CHECK(round.unreadable->row_id == "3");
  CHECK(contains(round.unreadable->detail, says));
}

TEST_CASE("headers that are no object are a bad payload") {
  TestDatabase database;
  database.run("CREATE TABLE t (id int PRIMARY KEY, " + stamped +
               ", headers jsonb);"
               "INSERT INTO t VALUES (1, DEFAULT, 'null'), (2, DEFAULT, '[1]')");
  Opened opened(database, table("t"));
  CHECK(opened.lane.deliver() == Ids{"1"});
  REQUIRE(opened.lane.poll().unreadable);
  CHECK(opened.lane.poll().unreadable->row_id == "2");
}

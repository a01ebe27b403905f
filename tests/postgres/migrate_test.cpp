#include "postgres/admin/migrate.hpp"

#include <doctest/doctest.h>

#include <future>

#include "seriatim/error.hpp"
#include "seriatim/postgres.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using testing::SqlSession;
using testing::TestDatabase;

namespace {

std::string empty_database(const std::string& name) {
  SqlSession(testing::shared_server().url()).run("CREATE DATABASE " + name);
  return testing::shared_server().url(name);
}

/// A database of its own, as a program of that schema version left it.
std::string schema_of_version(int version, const std::string& name) {
  auto url = empty_database(name);
  const auto script = postgres::schema_script();
  std::size_t end = 0;
  for (int i = 0; i < version; ++i) end = script.find("COMMIT;\n", end) + 8;
  SqlSession(url).run(script.substr(0, end));
  return url;
}

}  // namespace

TEST_CASE("a migrated schema is left alone by the next init") {
  TestDatabase database;
  CHECK(postgres::migrate(database.url()).empty());
  CHECK(postgres::schema_version(database.url()) >= 1);
}

TEST_CASE("two inits at once install each migration once") {
  const auto url = empty_database("migrate_twice");
  CHECK(postgres::schema_version(url) == 0);
  auto other = std::async(std::launch::async, [&] { return postgres::migrate(url).size(); });
  const auto here = postgres::migrate(url).size();
  const auto noted = SqlSession(url).value("SELECT count(*) FROM seriatim.migration");
  CHECK(std::to_string(here + other.get()) == noted);
}

TEST_CASE("the script for a DBA installs the same schema") {
  const auto url = empty_database("migrate_by_hand");
  SqlSession session(url);
  session.run(postgres::schema_script());
  CHECK(postgres::migrate(url).empty());
  CHECK(session.value("SELECT seriatim.append('a', '1', 'made', '{}')") == "1");
}

TEST_CASE("a schema newer than the program is refused") {
  TestDatabase database;
  database.run("INSERT INTO seriatim.migration (version, name) VALUES (9999, 'future')");
  CHECK_THROWS_WITH_AS(install_schema(database.url()), doctest::Contains("use the newer seriatim"),
                       Error);
}

TEST_CASE("an upgrade retires the former names of processes that an older version renamed") {
  const auto url = schema_of_version(11, "migrate_former_names");
  SqlSession database(url);
  database.run(
      "INSERT INTO seriatim.cursor (process_name, lane, lanes) VALUES ('c', 0, 2), ('c', 1, 2),"
      "  ('again', 0, 1), ('kept', 0, 1);"
      "INSERT INTO seriatim.journal (process_name, lane, act, who, why, detail)"
      " SELECT v.name, lane, 'adopt', 'eve', v.why, jsonb_build_object('from', v.former)"
      " FROM (VALUES ('b', 'a', 'ticket 1'), ('c', 'b', NULL), ('c', 'o''b', NULL), ('kept', "
      "'again', NULL),"
      "       ('lost', 'older', NULL)) AS v (name, former, why), generate_series(0, 1) AS lane");
  REQUIRE_FALSE(postgres::migrate(url).empty());
  CHECK(database.value("SELECT string_agg(concat(process_name, lane, '/', lanes, ' ', renamed_to),"
                       " ', ' ORDER BY process_name, lane)"
                       " FROM seriatim.cursor WHERE state = 'retired'") ==
        "a0/2 b, a1/2 b, b0/2 c, b1/2 c, o'b0/2 c, o'b1/2 c");
  CHECK(database.value("SELECT regexp_replace(detail, ' at [0-9: -]+Z ', ' ') FROM seriatim.cursor"
                       " WHERE process_name = 'a' AND lane = 0") ==
        "process \"a\" was renamed to \"b\" by eve (ticket 1): set name = \"b\" in the "
        "configuration; or take it back: seriatim adopt 'a' --from 'b'");
  CHECK(database.value("SELECT substring(detail FROM 'seriatim adopt .*') FROM seriatim.cursor"
                       " WHERE process_name = 'o''b' AND lane = 0") ==
        R"(seriatim adopt 'o'\''b' --from 'c')");
}

TEST_CASE("an upgrade keeps rows that are parked, queue, go out again or were begun") {
  const auto url = schema_of_version(13, "migrate_aside");
  SqlSession database(url);
  database.run(
      "CREATE ROLE desk; GRANT SELECT ON seriatim.parked TO desk;"
      "CREATE ROLE relay; GRANT SELECT, INSERT, UPDATE, DELETE ON seriatim.parked TO relay;"
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, planned_ids) VALUES"
      "  ('p', 0, 2, '{7}'), ('p', 1, 2, '{}'), ('late', 0, 1, '{21,20,22}');"
      "INSERT INTO seriatim.parked (process_name, row_id, lane, position_at, key, holds_key, head,"
      "  attempts, detail, redrive_at) VALUES"
      "  ('p', '5', 0, '2026-01-01', 'a', true, true, 3, '422', NULL),"
      "  ('p', '6', 0, '2026-01-02', 'a', true, false, 0, NULL, NULL),"
      "  ('p', '7', 1, '2026-01-03', 'b', true, true, 1, '500', now()),"
      "  ('p', '8', 1, '2026-01-04', 'b', true, false, 0, NULL, now())");
  const std::string parked =
      "SELECT string_agg(concat_ws(' ', row_id, number, lane, position_at::date, key, key_hash, "
      "holds_key, head, attempts, detail, parked_at, redrive_at), '; ' ORDER BY number) FROM "
      "seriatim.parked";
  const auto before = database.value(parked);
  REQUIRE_FALSE(postgres::migrate(url).empty());
  CHECK(database.value(parked) == before);
  const std::string aside =
      "SELECT string_agg(concat_ws(' ', row_id, state, begun, parked_at IS NOT NULL), ', ' ORDER "
      "BY number) FROM seriatim.aside WHERE process_name = ";
  CHECK(database.value(aside + "'p'") == "5 parked f t, 6 queued f t, 7 due t t, 8 due f t");
  CHECK(database.value(aside + "'late'") == "21 due t f, 20 due t f, 22 due t f");
  CHECK(database.value("SELECT max(number) < nextval(pg_get_serial_sequence('seriatim.aside', "
                       "'number')) FROM seriatim.aside") == "t");
  const auto may = [&](const std::string& role, const std::string& what, const std::string& table) {
    return database.value("SELECT has_table_privilege('" + role + "', 'seriatim." + table + "', '" +
                          what + "')") == "t";
  };
  CHECK(may("relay", "INSERT", "aside"));
  CHECK(may("relay", "DELETE", "aside"));
  CHECK(may("relay", "SELECT", "parked"));
  CHECK(may("desk", "SELECT", "parked"));
  CHECK_FALSE(may("desk", "UPDATE", "aside"));
}

TEST_CASE("an upgrade takes rows that were pruned out of the ledger") {
  const auto url = schema_of_version(15, "migrate_horizon");
  SqlSession database(url);
  database.run(
      "CREATE ROLE pruner; GRANT SELECT, UPDATE ON seriatim.ledger TO pruner;"
      "SET seriatim.knows_schema = '22';"
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, sequence, ledger_start) VALUES "
      "('p', 0, 2, 30, 5), ('p', 1, 2, 4, 0);"
      "INSERT INTO seriatim.ledger (process_name, lane, lanes, number, to_at, to_id, rows, ids, "
      "  ranges, hash, pruned_rows, pruned_hash) VALUES"
      "  ('p', 0, 1, 5, '2026-01-01', '5', 5, NULL, NULL, 1, 5, 1),"
      "  ('p', 0, 2, 15, '2026-01-02', '15', 10, NULL, NULL, 6, 9, 3),"
      "  ('p', 0, 2, 18, '2026-01-03', '18', 3, '{17}', '{[15,17)}', NULL, 1, "
      "hashtextextended('17', 0)),"
      "  ('p', 1, 2, 4, '2026-01-03', '4', 4, NULL, NULL, 7, 0, 0)");
  REQUIRE_FALSE(postgres::migrate(url).empty());
  CHECK(database.value("SELECT string_agg(concat_ws(' ', lane, number, rows, hash), ', ' ORDER BY "
                       "lane, number) FROM seriatim.ledger WHERE ids IS NULL") ==
        "0 5 0 0, 0 15 1 5, 1 4 4 7");
  CHECK(database.value("SELECT hash = hashtextextended('15', 0) # hashtextextended('16', 0) FROM "
                       "seriatim.ledger WHERE ids IS NOT NULL AND rows = 2") == "t");
  CHECK(database.value("SELECT string_agg(concat_ws(' ', lane, rows, number, id), ', ') FROM "
                       "seriatim.horizon") == "0 10 0");  // not what was there before the ledger
  CHECK(database.value("SELECT has_table_privilege('pruner', 'seriatim.horizon', 'UPDATE')") ==
        "t");
  // Also if it says that it keeps the rules of the row by itself.
  for (const char* more : {"", ", updated_at = clock_timestamp()"}) {
    CHECK_THROWS_WITH(database.run("SET seriatim.knows_schema = '16'; UPDATE seriatim.cursor SET "
                                   "sequence = 31" +
                                   std::string(more) + " WHERE lane = 0"),
                      doctest::Contains("older than the database"));
  }
}

TEST_CASE("an upgrade gives the rights on a new table to the owner of the old one too") {
  const auto url = schema_of_version(13, "migrate_owner");
  SqlSession session(url);
  session.run(
      "CREATE ROLE instance_owner; ALTER TABLE seriatim.instance OWNER TO instance_owner;"
      "CREATE ROLE instance_user; GRANT SELECT ON seriatim.instance TO instance_user");
  postgres::migrate(url);
  const auto may = [&](const std::string& role, const std::string& right) {
    return session.value("SELECT has_table_privilege('" + role + "', 'seriatim.audited', '" +
                         right + "')");
  };
  for (const char* right : {"SELECT", "INSERT", "UPDATE"}) {
    CHECK(may("instance_owner", right) == "t");
  }
  CHECK(may("instance_user", "SELECT") == "t");
  CHECK(may("instance_user", "INSERT") == "f");
}

TEST_CASE("updated_at of a cursor row follows every change") {
  TestDatabase database;
  database.run("INSERT INTO seriatim.cursor (process_name, lane, lanes) VALUES ('p', 0, 1)");
  database.run("UPDATE seriatim.cursor SET attempts = 1");
  CHECK(database.value("SELECT updated_at > created_at FROM seriatim.cursor") == "t");
}

TEST_CASE("a cursor row that no act would write is refused, and says how to go on") {
  TestDatabase database;
  database.run(
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, position_id)"
      " VALUES ('p', 0, 1, '2026-01-01', '7')");
  const auto refusal = [&](const std::string& change) -> std::string {
    try {
      database.run("UPDATE seriatim.cursor SET " + change);
    } catch (const std::exception& refused) {
      return refused.what();
    }
    return "";
  };
  for (const char* broken :
       {"state = 'stopped'", "attempts = -1", "crashes = -1", "sequence = -1", "lane = 1",
        "position_id = NULL", "bucket_id = '1'", "barrier_at = now()", "process_name = ''"}) {
    CAPTURE(broken);
    CHECK(refusal(broken).find("no cursor can stand like this: process ") != std::string::npos);
  }
  CHECK(refusal("state = 'paused', attempts = 1, position_at = NULL, position_id = NULL").empty());
  CHECK_THROWS_WITH(
      database.run("INSERT INTO seriatim.cursor (process_name, lane, lanes) VALUES ('p', 1, 1)"),
      doctest::Contains("no cursor can stand like this"));
}

// What becomes of the server's errors, and that a lost connection stays lost.
#include "postgres/wire/connection.hpp"

#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "postgres/wire/handler_transaction.hpp"
#include "seriatim/error.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using namespace seriatim::postgres;
using seriatim::testing::TestDatabase;
using std::chrono::milliseconds;

namespace {

/// "LOST 40001", "SOURCE_CHANGED" … : the class an error falls into.
std::string outcome_of(Connection& connection, const std::string& sql) {
  try {
    connection.run(sql);
  } catch (const SessionLost& lost) {
    return "LOST " + lost.sqlstate();
  } catch (const SourceBroken& broken) {
    return to_string(broken.reason());
  }
  return "none";
}

std::string raise(const std::string& sqlstate) {
  return "DO $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '" + sqlstate + "'; END $$";
}

}  // namespace

TEST_CASE("errors of the moment are a lost session, lasting ones name the source") {
  TestDatabase database;
  Connection connection(database.url(), {});
  for (const auto* sqlstate : {"40001", "40P01", "53100", "53200", "53300", "55P03", "57014",
                               "57P01", "57P02", "57P03", "25006", "58030"}) {
    CAPTURE(sqlstate);
    CHECK(outcome_of(connection, raise(sqlstate)) == std::string("LOST ") + sqlstate);
  }
  for (const auto* sqlstate : {"42P01", "42703", "42501", "42804", "42883", "3F000", "0A000"}) {
    CAPTURE(sqlstate);
    CHECK(outcome_of(connection, raise(sqlstate)) == "SOURCE_CHANGED");
  }
  for (const auto* sqlstate : {"22012", "22P02", "54001", "XX001"}) {
    CAPTURE(sqlstate);
    CHECK(outcome_of(connection, raise(sqlstate)) == "BAD_PAYLOAD");
  }
}

TEST_CASE("a statement that takes too long, or waits too long, is a lost session") {  // FAULTS 22
  TestDatabase database;
  Connection connection(database.url(), {"test", milliseconds{50}, milliseconds{0}, {}});
  CHECK(outcome_of(connection, "SELECT pg_sleep(20)") == "LOST 57014");
  auto other = database.connect();
  other.run("CREATE TABLE t (n int)");
  other.run("BEGIN; LOCK TABLE t");
  Connection patient(database.url(), {"test", milliseconds{20'000}, milliseconds{50}, {}});
  CHECK(outcome_of(patient, "SELECT * FROM t") == "LOST 55P03");
}

TEST_CASE("a deadlock is a lost session") {  // FAULTS 22
  TestDatabase database;
  database.run("CREATE TABLE t (n int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0)");
  Connection connection(database.url(), {});
  connection.run("SET deadlock_timeout = '10ms'");
  connection.begin("UPDATE t SET v = 1 WHERE n = 1");
  auto other = database.connect("other");
  other.run("SET deadlock_timeout = '60s'");
  std::thread waits([&] {
    other.run("BEGIN; UPDATE t SET v = 2 WHERE n = 2; UPDATE t SET v = 2 WHERE n = 1; COMMIT");
  });
  CHECK(
      database.becomes_true("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = "
                            "'other' AND wait_event_type = 'Lock')"));
  CHECK(outcome_of(connection, "UPDATE t SET v = 1 WHERE n = 2") == "LOST 40P01");
  connection.rollback();
  waits.join();
}

TEST_CASE("a lost connection is not reopened on another backend") {
  TestDatabase database;
  Connection connection(database.url(), {});
  const auto pid = std::to_string(connection.backend_pid());
  database.run("SELECT pg_terminate_backend(" + pid + ")");
  CHECK_THROWS_AS(connection.run("SELECT 1"), SessionLost);
  CHECK_THROWS_AS(connection.run("SELECT 1"), SessionLost);
  CHECK_THROWS_AS(connection.notifications(), SessionLost);
}

TEST_CASE("a server that is not there is a lost session, and no password is shown") {
  TestDatabase database;
  try {
    Connection connection("postgresql://someone:canary@127.0.0.1:1/nowhere", {});
    FAIL("it connected");
  } catch (const SessionLost& lost) {
    CHECK(std::string(lost.what()).find("canary") == std::string::npos);
  }
  CHECK_THROWS_AS(Connection("host=127.0.0.1 port=1 password=canary", {}), SessionLost);
}

TEST_CASE("sessions bring their own settings, whatever the database's defaults are") {
  TestDatabase database;
  database.run("ALTER DATABASE " + database.name() + " SET TimeZone = 'Asia/Kathmandu'");
  database.run("ALTER DATABASE " + database.name() + " SET DateStyle = 'German'");
  database.run("ALTER DATABASE " + database.name() + " SET synchronous_commit = off");
  database.run("ALTER DATABASE " + database.name() +
               " SET default_transaction_isolation = "
               "'serializable'");
  Connection connection(database.url(), {"seriatim/p/0", milliseconds{1000}, milliseconds{500},
                                         milliseconds{35'000}});
  const auto setting = [&](const std::string& name) {
    return connection.run("SHOW " + name)[0][0].as<std::string>();
  };
  CHECK(setting("TimeZone") == "UTC");
  CHECK(setting("DateStyle") == "ISO, YMD");
  CHECK(setting("synchronous_commit") == "on");
  CHECK(setting("transaction_isolation") == "read committed");
  CHECK(setting("application_name") == "seriatim/p/0");
  CHECK(setting("idle_in_transaction_session_timeout") == "35s");
  CHECK(connection.direct());
}

TEST_CASE("network bounds give way to what the user wrote") {
  TestDatabase database;
  CHECK_NOTHROW(Connection(database.url() + "?connect_timeout=3&sslmode=disable", {}));
  CHECK_THROWS_WITH_AS(Connection(database.url() + "?connect_timeout=soon", {}),
                       doctest::Contains("connect_timeout"), SessionLost);
}

TEST_CASE("a failed statement ends its transaction and leaves the connection usable") {
  TestDatabase database;
  Connection connection(database.url(), {});
  connection.begin("SELECT 1");
  CHECK(outcome_of(connection, "SELECT nothing") == "SOURCE_CHANGED");
  CHECK_FALSE(connection.in_transaction());
  CHECK(connection.run("SELECT 7")[0][0].as<int>() == 7);
}

TEST_CASE("a statement of every round is parsed once a session, and fails as any other") {
  TestDatabase database;
  Connection connection(database.url(), {});
  for (const auto* number : {"7", "8"}) {
    CHECK(connection.run_prepared("SELECT $1::int", {number})[0][0].as<std::string>() == number);
  }
  CHECK(connection.run("SELECT count(*) FROM pg_prepared_statements")[0][0].as<int>() == 1);
  connection.begin("SELECT 1");
  CHECK_THROWS_AS(connection.run_prepared("SELECT $1::int", {"seven"}), SourceBroken);
  CHECK_FALSE(connection.in_transaction());
  CHECK(connection.run_prepared("SELECT $1::int", {"9"})[0][0].as<int>() == 9);
}

TEST_CASE(
    "a lane's statements are planned once, along an index, and a handler's as its role says") {
  TestDatabase database;
  database.run(
      "CREATE TABLE t (id bigint PRIMARY KEY, n int); INSERT INTO t SELECT i, 1000 - i FROM "
      "generate_series(1, 1000) AS i; ANALYZE t");
  Connection connection(database.url(), {.one_plan = true});
  const auto setting = [&](const std::string& name) {
    return connection.run("SELECT current_setting('" + name + "')")[0][0].as<std::string>();
  };
  CHECK(setting("plan_cache_mode") == "force_generic_plan");
  for (const auto* name : {"enable_seqscan", "enable_sort", "enable_incremental_sort", "jit"}) {
    CAPTURE(name);
    CHECK(setting(name) == "off");
  }
  HandlerTransaction transaction(connection, [&] { connection.begin(""); });
  transaction.savepoint(std::chrono::seconds(5));
  const auto plan = transaction.run("EXPLAIN SELECT * FROM t ORDER BY n", {});
  CHECK(plan.rows.at(0).at(0).value().rfind("Sort", 0) == 0);
  CHECK(setting("enable_seqscan") == "on");
  connection.commit();
  CHECK(setting("enable_seqscan") == "off");
}

TEST_CASE("columns of many rows arrive as they are, in their order") {
  TestDatabase database;
  Connection connection(database.url(), {});
  HandlerTransaction transaction(connection, [&] { connection.begin(""); });
  const std::string long_text(100'000, 'x');
  const std::vector<std::optional<std::string_view>> texts{
      "plain", "", std::nullopt, R"({"a": "\\ \" , {}"})", "NULL", "žluťoučký ✓", long_text};
  const std::vector<std::int64_t> numbers{0, -1, 1, INT64_MIN, INT64_MAX, 1LL << 40, 7};
  const auto answer = transaction.run_over(
      "SELECT t, n FROM unnest($1::text[], $2::bigint[]) AS r (t, n)", {texts, numbers});
  REQUIRE_FALSE(answer.refusal);
  REQUIRE(answer.rows.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    CHECK((answer.rows[i][0] == texts[i]));
    CHECK(answer.rows[i][1] == std::to_string(numbers[i]));
  }
  const std::vector<std::optional<std::string_view>> no_rows;
  const auto none = transaction.run_over("SELECT cardinality($1::text[])", {no_rows});
  CHECK(none.rows.at(0).at(0) == "0");
  transaction.savepoint(std::chrono::seconds(5));
  const std::vector<std::optional<std::string_view>> no_text{std::string_view("\xff", 1)};
  const auto refused = transaction.run_over("SELECT $1::text[]", {no_text});
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->sqlstate == "22021");
}

TEST_CASE("rows whose transaction is refused at its end are refused") {
  TestDatabase database;
  database.run(
      "CREATE TABLE seen (n int UNIQUE DEFERRABLE INITIALLY DEFERRED);"
      "CREATE FUNCTION see(n int) RETURNS int LANGUAGE sql AS "
      "$$ INSERT INTO seen VALUES (n) RETURNING n $$");
  Connection connection(database.url(), {});
  CHECK(connection.fetch_prepared("SELECT see(1)", {}).size() == 1);
  CHECK_THROWS_AS(connection.fetch_prepared("SELECT see(1)", {}), SourceBroken);
}

// Statements sent together: their answers, and what is left of the connection when one is refused.
#include "postgres/wire/pipeline.hpp"

#include <doctest/doctest.h>

#include <future>

#include "postgres/wire/connection.hpp"
#include "postgres/wire/open_connection.hpp"
#include "seriatim/error.hpp"
#include "sql/wire.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using namespace seriatim::postgres;
using seriatim::testing::TestDatabase;
using std::chrono::milliseconds;

namespace {

const char* const insert = "INSERT INTO t SELECT 10 / $1::int";
const char* const found = "SELECT 1 WHERE $1::int = 1";

struct Line {
  Line() { database.run("CREATE TABLE t (n int)"); }

  /// Of the last statement; "LOST 57014", "BROKEN 22012" …
  std::string commit(const std::string& statement, const Params& params,
                     const std::string& last = found, const Params& last_params = {"1"}) {
    try {
      const auto answers = connection.commit_with({{statement, params}, {last, last_params}});
      CHECK(answers.size() == 2);
      return answers.back().empty() ? "not found" : "found";
    } catch (const SessionLost& lost) {
      return "LOST " + lost.sqlstate();
    } catch (const SourceBroken& broken) {
      return "BROKEN " + broken.sqlstate();
    }
  }
  [[nodiscard]] bool usable() {
    return !connection.in_transaction() &&
           connection.run("SELECT txid_current_if_assigned() IS NULL")[0][0].as<bool>() &&
           commit(insert, {"10"}) == "found" && !connection.in_transaction();
  }
  std::string rows() { return database.value("SELECT count(*) FROM t"); }

  TestDatabase database;
  Connection connection{database.url(),
                        {"test", milliseconds{2'000}, milliseconds{50}, milliseconds{60'000}}};
};

}  // namespace

TEST_SUITE("statements in one round trip") {
  TEST_CASE("each is answered, in order; NULL goes there and comes back") {
    TestDatabase database;
    OpenConnection connection(database.url());
    connection.prepare_now("one", "SELECT $1::text AS a, $2::text AS b");
    connection.prepare_now("many", "SELECT generate_series(1, $1::int) AS n");
    Pipeline pipeline(connection.raw());
    pipeline.send("one", {std::nullopt, "it's \\ \"quoted\""});
    pipeline.send("many", {"3"});
    pipeline.send("many", {"0"});
    const auto answers = pipeline.answers();
    REQUIRE(answers.size() == 3);
    CHECK(answers[0].value(0, "a") == std::nullopt);
    CHECK(answers[0].value(0, "b") == "it's \\ \"quoted\"");
    CHECK_THROWS_AS((void)answers[0].value(0, "c"), pqxx::argument_error);
    CHECK(answers[1].size() == 3);
    CHECK(answers[1].value(2, "n") == "3");
    CHECK(answers[2].empty());
  }

  TEST_CASE("what is asked behind a statement sees what that did, and costs it nothing") {
    const char* const count = "SELECT count(*)::text AS n FROM t WHERE $1::int > 0";
    const char* const inserted = "INSERT INTO t SELECT 10 / $1::int RETURNING n";
    const char* const division = "SELECT 1 / $1::int";
    Line line;
    auto& connection = line.connection;
    connection.run_prepared(count, {"1"});
    connection.run_prepared(division, {"1"});
    Connection::Behind behind{{count, {"1"}}, {}, {}};
    SUBCASE("answered") {
      CHECK(connection.run_then({inserted, {"1"}}, &behind).size() == 1);
      REQUIRE(behind.answer);
      CHECK(behind.answer->value(0, "n") == "1");
      CHECK(line.rows() == "1");
    }
    SUBCASE("refused") {
      behind.statement = {division, {"0"}};
      CHECK(connection.run_then({inserted, {"1"}}, &behind).size() == 1);
      CHECK_FALSE(behind.answer);
      REQUIRE(behind.refusal);
      CHECK_THROWS_AS(std::rethrow_exception(behind.refusal), SourceBroken);
      CHECK(line.rows() == "1");
    }
    SUBCASE("cut off with the connection") {
      const char* const end = "SELECT pg_terminate_backend(pg_backend_pid()) WHERE $1::int > 0";
      connection.run_prepared(end, {"0"});
      behind.statement = {end, {"1"}};
      CHECK(connection.run_then({inserted, {"1"}}, &behind).size() == 1);
      REQUIRE(behind.refusal);
      CHECK_THROWS_AS(std::rethrow_exception(behind.refusal), SessionLost);
      CHECK(line.rows() == "1");
      return;  // there is nothing left to be used
    }
    SUBCASE("not asked if the server would have to be sent the statement first") {
      behind.statement = {"SELECT n FROM no_such_table WHERE n = $1::int", {"1"}};
      CHECK(connection.run_then({inserted, {"1"}}, &behind).size() == 1);
      CHECK_FALSE(behind.answer);
      CHECK_FALSE(behind.refusal);
      CHECK(line.rows() == "1");
    }
    SUBCASE("behind one that found nothing") {
      CHECK(connection.run_then({found, {"2"}}, &behind).empty());
      CHECK(behind.answer);
    }
    SUBCASE("behind one that was refused") {
      CHECK_THROWS_AS((void)connection.run_then({inserted, {"0"}}, &behind), SourceBroken);
      CHECK_FALSE(behind.answer);
      CHECK(line.rows() == "0");
    }
    CHECK(line.usable());
  }

  TEST_CASE("several and their COMMIT: in the open transaction, or in one of their own") {
    Line line;
    CHECK(line.commit(insert, {"1"}) == "found");
    CHECK_FALSE(line.connection.in_transaction());
    CHECK(line.rows() == "1");
    line.connection.begin("INSERT INTO t VALUES (0)");
    CHECK(line.commit(insert, {"2"}, found, {"2"}) == "not found");
    CHECK_FALSE(line.connection.in_transaction());
    CHECK(line.rows() == "3");
    CHECK(line.commit(insert, {std::nullopt}, found, {std::nullopt}) == "not found");
    CHECK(line.rows() == "4");
    CHECK(line.connection.begin_prepared({insert, {"3"}}) == false);  // an INSERT finds nothing
    CHECK(line.connection.in_transaction());
    CHECK(line.rows() == "4");
    line.connection.rollback();
    CHECK(line.usable());
  }

  TEST_CASE("the first is refused: nothing is committed, and the connection is usable") {
    Line line;
    for (const bool in_transaction : {false, true}) {
      CAPTURE(in_transaction);
      if (in_transaction) line.connection.begin("INSERT INTO t VALUES (0)");
      CHECK(line.commit(insert, {"0"}) == "BROKEN 22012");
      CHECK(line.rows() == "0");
      CHECK_FALSE(line.connection.in_transaction());
    }
    CHECK(line.usable());
  }

  TEST_CASE("COMMIT is refused: nothing is committed, and the connection is usable") {
    Line line;
    line.database.run("ALTER TABLE t ADD UNIQUE (n) DEFERRABLE INITIALLY DEFERRED");
    line.database.run("INSERT INTO t VALUES (5)");
    CHECK(line.commit(insert, {"2"}) == "BROKEN 23505");
    CHECK(line.rows() == "1");
    CHECK(line.usable());
  }

  TEST_CASE("the last is refused: nothing is committed, and the connection is usable") {
    Line line;
    CHECK(line.commit(insert, {"1"}, "SELECT 1 / $1::int", {"0"}) == "BROKEN 22012");
    CHECK(line.rows() == "0");
    CHECK(line.usable());
  }

  TEST_CASE("one that takes too long, or waits too long for a lock, is a lost session") {
    Line line;
    CHECK(line.commit("SELECT pg_sleep($1::int)", {"20"}) == "LOST 57014");
    line.connection.rollback();  // as after any lost session that is used again
    auto other = line.database.connect();
    other.run("BEGIN; LOCK TABLE t");
    CHECK(line.commit(insert, {"1"}) == "LOST 55P03");
    line.connection.rollback();
    other.run("ROLLBACK");
    CHECK(line.usable());
    CHECK(line.rows() == "1");
  }

  TEST_CASE("one that cannot be parsed is refused, and nothing was sent") {
    Line line;
    CHECK(line.commit(insert, {"1"}, "SELECT nothing", {}) == "BROKEN 42703");
    CHECK(line.rows() == "0");
    CHECK(line.usable());
  }

  TEST_CASE("the server goes in between: the session is lost, and stays lost") {
    Line line;
    CHECK(line.commit("SELECT pg_terminate_backend(pg_backend_pid()), $1::int", {"1"})
              .starts_with("LOST"));
    CHECK(line.commit(insert, {"1"}).starts_with("LOST"));
    CHECK_THROWS_AS(line.connection.begin_prepared({found, {"1"}}), SessionLost);
    CHECK_THROWS_AS(line.connection.run("SELECT 1"), SessionLost);
    CHECK(line.rows() == "0");
  }

  TEST_CASE("a notification that comes in between is delivered") {
    Line line;
    line.connection.listen("hint");
    const auto notify = "SELECT pg_notify('hint', $1)";
    line.connection.run_together(
        {{notify, {"first"}}, {notify, {"second"}}});  // behind the answers
    CHECK(line.commit(notify, {"third"}) == "found");
    line.connection.rollback();
    const auto came = line.connection.notifications();
    REQUIRE(came.size() == 3);
    CHECK(came[0].second == "first");
    CHECK(came[1].second == "second");
    CHECK(came[2].second == "third");
  }

  TEST_CASE("of several, each has its own snapshot, and none is sent before it is time") {
    Line line;
    const Statement count{"SELECT count(*)::int AS n FROM t", {}};
    const Statement in_binary{count.sql, {}, true};
    const auto answers =
        line.connection.run_together({count, count, in_binary}, [&](std::size_t number) {
          line.database.run("INSERT INTO t VALUES (" + std::to_string(number) + ")");
        });
    REQUIRE(answers.size() == 3);
    CHECK(answers[0].value(0, "n") == "0");
    CHECK(answers[1].value(0, "n") == "1");
    CHECK(answers[2].value(0, "n") == std::string("\0\0\0\2", 4));
    const auto again =
        line.connection.run_together({{"SELECT clock_timestamp() AS at", {}}, count});
    CHECK(again[0].value(0, "at"));
    CHECK(again[1].value(0, "n") == "2");
    CHECK_THROWS_AS(line.connection.run_together({{"SELECT 1 / n FROM t WHERE n < $1::int", {"2"}},
                                                  {"SELECT 1 / (n - $1::int) FROM t", {"1"}}}),
                    SourceBroken);
    CHECK(line.usable());
  }

  TEST_CASE("of several in one message, each has its own snapshot") {
    Line line;
    auto holder = line.database.connect("holder");
    holder.run("SELECT pg_advisory_lock(1)");
    const Statement count{"SELECT count(*) AS n FROM t", {}};
    auto asking = std::async(std::launch::async, [&] {
      return line.connection.run_together({count, {"SELECT pg_advisory_lock(1)", {}}, count});
    });
    REQUIRE(line.database.becomes_true("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted"));
    holder.run("INSERT INTO t VALUES (1)");
    holder.run("SELECT pg_advisory_unlock(1)");
    const auto answers = asking.get();
    CHECK(answers[0].value(0, "n") == "0");
    CHECK(answers[2].value(0, "n") == "1");
  }

  TEST_CASE("of several, the end of their transaction may be refused") {
    Line line;
    line.database.run(
        "CREATE TABLE seen (n int UNIQUE DEFERRABLE INITIALLY DEFERRED);"
        "CREATE FUNCTION see(n int) RETURNS int LANGUAGE sql AS "
        "$$ INSERT INTO seen VALUES (n) RETURNING n $$");
    const Statement see{"SELECT see(1)", {}};
    CHECK(line.connection.run_together({{"SELECT 1"}, see}).size() == 2);
    CHECK_THROWS_AS(line.connection.run_together({{"SELECT 1"}, see}), SourceBroken);
    CHECK(line.usable());
  }

  TEST_CASE("the first of two is refused before the second is sent: the connection is usable") {
    Line line;
    bool called = false;
    CHECK_THROWS_AS(line.connection.run_together({{"SELECT 1 / $1::int", {"0"}}, {found, {"1"}}},
                                                 [&](std::size_t) { called = true; }),
                    SourceBroken);
    CHECK_FALSE(called);
    CHECK(line.usable());
  }

  TEST_CASE("a backend that has not got all that was sent together is not at work") {
    TestDatabase database;
    OpenConnection connection(database.url());
    connection.prepare_now("one", "SELECT 1");
    Connection another(database.url(), {});
    const auto works = [&] {
      return another.run(sql::wire::backend_works, {std::to_string(connection.backendpid())})[0][0]
          .as<bool>();
    };
    {
      Pipeline pipeline(connection.raw());
      pipeline.send("one", {});
      pipeline.ask_now();
      (void)pipeline.answers_now(1);
      CHECK(
          database.becomes_true("SELECT state = 'active' AND wait_event = 'ClientRead' FROM "
                                "pg_stat_activity WHERE pid = " +
                                std::to_string(connection.backendpid())));
      CHECK_FALSE(works());
    }
    CHECK_FALSE(works());
  }
}

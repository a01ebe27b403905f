// What consumers use: each event once, in SQL and in C++.
#include "seriatim/inbox.hpp"

#include <doctest/doctest.h>

#include <future>

#include "lab/proxy/fault_proxy.hpp"
#include "postgres/least_role.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using seriatim::torture::Connections;
using seriatim::torture::FaultProxy;
using seriatim::torture::Side;

namespace {

const std::string take = "SELECT seriatim.inbox_once('billing', 'p:1')";

/// Whether a session waits for a lock.
bool waits(TestDatabase& database, int pid) {
  return database.becomes_true(
      "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " + std::to_string(pid));
}

struct Effects {
  Effects() {
    database.run("CREATE TABLE effect (n bigint GENERATED ALWAYS AS IDENTITY, id text)");
  }
  std::string all() { return database.value("SELECT string_agg(id, ' ' ORDER BY n) FROM effect"); }
  /// True once its session is gone.
  bool terminate_consumer() {
    const std::string session =
        " FROM pg_stat_activity WHERE application_name = 'seriatim-inbox/billing'"
        " AND datname = current_database()";
    database.run("SELECT pg_terminate_backend(pid)" + session);
    return database.becomes_true("SELECT count(*) = 0" + session);
  }
  static Inbox::Effect note(const std::string& id) {
    return [id](Transaction& t) { t.run("INSERT INTO effect (id) VALUES ($1)", {id}); };
  }

  TestDatabase database;
};

/// A consumer on the other side of a network that loses things.
struct FarConsumer {
  [[nodiscard]] bool once(const std::string& id) { return inbox.once(id, Effects::note(id)); }

  Effects effects;
  FaultProxy proxy{"127.0.0.1", static_cast<unsigned short>(shared_server().port())};
  Inbox inbox{effects.database.url() + "?host=127.0.0.1&sslmode=disable&tcp_user_timeout=1000" +
                  "&port=" + std::to_string(proxy.port()),
              "billing"};
};

}  // namespace

TEST_SUITE("seriatim.inbox_once") {
  TEST_CASE("an event is taken once by each consumer") {
    TestDatabase database;
    CHECK(database.value(take) == "t");
    CHECK(database.value(take) == "f");
    CHECK(database.value("SELECT seriatim.inbox_once('billing', 'p:2')") == "t");
    CHECK(database.value("SELECT seriatim.inbox_once('mail', 'p:1')") == "t");
  }

  TEST_CASE("what is rolled back was not taken, to a savepoint too") {
    TestDatabase database;
    database.run("BEGIN; " + take + "; ROLLBACK");
    CHECK(database.value(take) == "t");
    auto session = database.connect();
    session.run("BEGIN; SAVEPOINT s; SELECT seriatim.inbox_once('billing', 'p:2'); ROLLBACK TO s");
    CHECK(session.value("SELECT seriatim.inbox_once('billing', 'p:2')") == "t");
    CHECK(session.value("SELECT seriatim.inbox_once('billing', 'p:2')") == "f");
    session.run("COMMIT");
  }

  TEST_CASE("two at the same event: the second waits, and learns what became of the first") {
    TestDatabase database;
    for (const bool committed : {true, false}) {
      auto first = database.connect();
      auto second = database.connect();
      first.run("BEGIN");
      REQUIRE(first.value(take) == "t");
      auto answer = std::async(std::launch::async, [&] { return second.value(take); });
      REQUIRE(waits(database, second.pid()));
      first.run(committed ? "COMMIT" : "ROLLBACK");
      CHECK(answer.get() == (committed ? "f" : "t"));
      database.run("DELETE FROM seriatim.inbox");
    }
  }

  TEST_CASE("in a snapshot older than the first commit it is a serialization failure, never true") {
    TestDatabase database;
    auto late = database.connect();
    late.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    CHECK(database.value(take) == "t");
    CHECK_THROWS_WITH_AS(late.run(take), doctest::Contains("could not serialize"), std::exception);
  }

  TEST_CASE("names and ids that would be cut or mixed up are refused") {
    TestDatabase database;
    CHECK_THROWS(database.run("SELECT seriatim.inbox_once('', 'x')"));
    CHECK_THROWS(database.run("SELECT seriatim.inbox_once('billing', '')"));
    CHECK_THROWS(database.run("SELECT seriatim.inbox_once('billing', NULL)"));
    CHECK_THROWS(database.run("SELECT seriatim.inbox_once(repeat('x', 64), 'x')"));
    CHECK_THROWS(database.run("SELECT seriatim.inbox_once('billing', repeat('x', 1001))"));
  }

  TEST_CASE("the oldest are forgotten first, some at a time, and only this consumer's") {
    TestDatabase database;
    database.run(
        "INSERT INTO seriatim.inbox SELECT c, n::text, now() - n * interval '1 day'"
        " FROM unnest(ARRAY['billing', 'mail']) AS c, generate_series(1, 10) AS n");
    CHECK(database.value("SELECT seriatim.inbox_prune('billing', '4 days 12 hours', 4)") == "4");
    CHECK(database.value("SELECT string_agg(event_id, ' ' ORDER BY received_at DESC)"
                         " FROM seriatim.inbox WHERE consumer = 'billing'") == "1 2 3 4 5 6");
    CHECK(database.value("SELECT seriatim.inbox_prune('billing', '4 days 12 hours', 4)") == "2");
    CHECK(database.value("SELECT count(*) FROM seriatim.inbox WHERE consumer = 'mail'") == "10");
    CHECK(database.value("SELECT seriatim.inbox_once('billing', '10')") == "t");
  }

  TEST_CASE("an age or a number that cannot be meant forgets nothing") {
    TestDatabase database;
    for (const char* arguments : {"'0'", "'-1 day'", "NULL", "'1 day', 0", "'1 day', NULL"}) {
      CAPTURE(arguments);
      CHECK_THROWS_WITH_AS(
          database.run(std::string("SELECT seriatim.inbox_prune('billing', ") + arguments + ")"),
          doctest::Contains("must be positive"), std::exception);
    }
  }

  TEST_CASE("a consumer's role needs the rights of docs/consumer.sql and no more") {
    TestDatabase database;
    LeastRole role(database, "");
    role.grant("consumer.sql");
    SqlSession session(role.url());
    CHECK(session.value(take) == "t");
    CHECK(session.value(take) == "f");
    CHECK_THROWS(session.run("SELECT FROM seriatim.inbox"));
    CHECK_THROWS(session.run("SELECT seriatim.inbox_prune('billing', '1 day')"));
    database.run("GRANT SELECT, UPDATE, DELETE ON seriatim.inbox TO " + role.name());
    CHECK(session.value("SELECT seriatim.inbox_prune('billing', '1 day')") == "0");
  }
}

TEST_SUITE("Inbox") {
  TEST_CASE("effect and note are committed together, once") {
    Effects effects;
    Inbox inbox(effects.database.url(), "billing");
    CHECK(inbox.once("p:1", Effects::note("p:1")));
    CHECK_FALSE(inbox.once("p:1", Effects::note("again")));
    CHECK(inbox.once("p:2", Effects::note("p:2")));
    CHECK(effects.all() == "p:1 p:2");
    Inbox other(effects.database.url(), "mail");
    CHECK(other.once("p:1", Effects::note("mail")));
  }

  TEST_CASE("an exception takes back both") {
    Effects effects;
    Inbox inbox(effects.database.url(), "billing");
    const auto fails = [](Transaction& t) {
      Effects::note("half")(t);
      throw std::runtime_error("no");
    };
    CHECK_THROWS_WITH(inbox.once("p:1", fails), "no");
    CHECK(effects.all() == "");
    CHECK(inbox.once("p:1", Effects::note("whole")));
    CHECK(effects.all() == "whole");
  }

  TEST_CASE("a refusal takes back both, also one that the effect overlooks") {
    Effects effects;
    Inbox inbox(effects.database.url(), "billing");
    const auto refused = [](Transaction& t) { t.run("INSERT INTO effect (n) VALUES (1)", {}); };
    CHECK_THROWS_WITH_AS(inbox.once("p:1", refused), doctest::Contains("SQLSTATE 428C9"),
                         InboxRefusal);
    const auto overlooks = [&](Transaction& t) {
      try {
        refused(t);
      } catch (const InboxRefusal& refusal) {
        CHECK(refusal.sqlstate() == "428C9");
      }
    };
    CHECK_THROWS_AS(inbox.once("p:1", overlooks), InboxRefusal);
    CHECK_THROWS_AS(inbox.once("p:1", [](Transaction& t) { t.rollback_to_savepoint(); }),
                    std::logic_error);
    CHECK(inbox.once("p:1", Effects::note("p:1")));
    CHECK(effects.all() == "p:1");
  }

  TEST_CASE("a session that is lost takes back both; the next call opens another") {
    Effects effects;
    Inbox inbox(effects.database.url(), "billing");
    const auto dies = [](Transaction& t) {
      Effects::note("half")(t);
      t.run("SELECT pg_terminate_backend(pg_backend_pid())", {});
    };
    CHECK_THROWS_AS(inbox.once("p:1", dies), SessionLost);
    CHECK(inbox.once("p:1", Effects::note("p:1")));
    CHECK(effects.all() == "p:1");
  }

  TEST_CASE("COMMIT was done and its answer lost: in doubt once, then known as taken") {
    FarConsumer consumer;
    REQUIRE(consumer.once("p:1"));
    auto effect = Effects::note("p:2");
    SUBCASE("the connection breaks") {
      consumer.proxy.drop_commit(Side::client);
    }
    SUBCASE("the answer never comes") {
      effect = [&, note = effect](Transaction& t) {
        note(t);
        consumer.proxy.set({{}, {.swallow = true}}, Connections::existing);
      };
    }
    CHECK_THROWS_AS(consumer.inbox.once("p:2", effect), SessionLost);
    CHECK(consumer.effects.all() == "p:1 p:2");
    CHECK_FALSE(consumer.once("p:2"));
    CHECK(consumer.once("p:3"));
    CHECK(consumer.effects.all() == "p:1 p:2 p:3");
  }

  TEST_CASE("COMMIT was never done: in doubt too, then taken") {
    FarConsumer consumer;
    REQUIRE(consumer.once("p:1"));
    auto effect = Effects::note("p:2");
    SUBCASE("it was lost on its way") {
      consumer.proxy.drop_commit(Side::server);
    }
    SUBCASE("the server ended the session before") {
      effect = [&, note = effect](Transaction& t) {
        note(t);
        REQUIRE(consumer.effects.terminate_consumer());
      };
    }
    CHECK_THROWS_AS(consumer.inbox.once("p:2", effect), SessionLost);
    CHECK(consumer.effects.all() == "p:1");
    CHECK(consumer.once("p:2"));
    CHECK_FALSE(consumer.once("p:2"));
    CHECK(consumer.effects.all() == "p:1 p:2");
  }

  TEST_CASE("while the server has not noticed the loss, the event is refused; then it is taken") {
    FarConsumer consumer;
    const auto breaks = [&](Transaction& t) {
      Effects::note("p:1")(t);
      consumer.proxy.half_open(Side::client);
    };
    CHECK_THROWS_AS(consumer.inbox.once("p:1", breaks), SessionLost);
    CHECK_THROWS_WITH_AS((void)consumer.once("p:1"), doctest::Contains("SQLSTATE 55P03"),
                         InboxRefusal);
    CHECK(consumer.once("p:2"));
    REQUIRE(consumer.effects.terminate_consumer());
    CHECK_THROWS_AS((void)consumer.once("p:1"), SessionLost);  // ours was ended along
    CHECK(consumer.once("p:1"));
    CHECK(consumer.effects.all() == "p:2 p:1");
  }

  TEST_CASE("a database that cannot be reached is a session lost, and found again") {
    FarConsumer consumer;
    REQUIRE(consumer.once("p:1"));
    consumer.proxy.reset_connections();
    consumer.proxy.refuse(true);
    CHECK_THROWS_AS((void)consumer.once("p:2"), SessionLost);
    CHECK_THROWS_AS((void)consumer.once("p:2"), SessionLost);
    consumer.proxy.refuse(false);
    CHECK(consumer.once("p:2"));
    CHECK(consumer.effects.all() == "p:1 p:2");
  }

  TEST_CASE("a constraint checked at COMMIT takes back both, and nothing is in doubt") {
    Effects effects;
    effects.database.run("ALTER TABLE effect ADD UNIQUE (id) DEFERRABLE INITIALLY DEFERRED");
    Inbox inbox(effects.database.url(), "billing");
    REQUIRE(inbox.once("p:1", Effects::note("same")));
    CHECK_THROWS_WITH_AS(inbox.once("p:2", Effects::note("same")),
                         doctest::Contains("SQLSTATE 23505"), InboxRefusal);
    CHECK(inbox.once("p:2", Effects::note("other")));
    CHECK(effects.all() == "same other");
  }

  TEST_CASE("a prune whose answer was lost goes on with the next call") {
    FarConsumer consumer;
    consumer.effects.database.run(
        "INSERT INTO seriatim.inbox SELECT 'billing', n::text, now() - interval '40 days'"
        " FROM generate_series(1, 15000) AS n");
    consumer.proxy.drop_commit(Side::client);
    CHECK_THROWS_AS(consumer.inbox.prune(30 * 24h), SessionLost);
    CHECK(consumer.inbox.prune(30 * 24h) == 5'000);
  }
  TEST_CASE("two of one name at the same event: one effect") {
    Effects effects;
    std::promise<void> inside;
    std::promise<void> go_on;
    auto first = std::async(std::launch::async, [&] {
      Inbox inbox(effects.database.url(), "billing");
      return inbox.once("p:1", [&](Transaction& t) {
        Effects::note("first")(t);
        inside.set_value();
        go_on.get_future().wait();
      });
    });
    inside.get_future().wait();
    auto second = std::async(std::launch::async, [&] {
      Inbox inbox(effects.database.url(), "billing");
      return inbox.once("p:1", Effects::note("second"));
    });
    CHECK(effects.database.becomes_true(
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND application_name = 'seriatim-inbox/billing' AND datname = current_database()"));
    go_on.set_value();
    CHECK(first.get());
    CHECK_FALSE(second.get());
    CHECK(effects.all() == "first");
  }

  TEST_CASE("pruned in small transactions, all that is old") {
    TestDatabase database;
    database.run(
        "INSERT INTO seriatim.inbox SELECT 'billing', n::text, now() - interval '40 days'"
        " FROM generate_series(1, 25000) AS n; SELECT seriatim.inbox_once('billing', 'new')");
    Inbox inbox(database.url(), "billing");
    CHECK(inbox.prune(30 * 24h) == 25'000);
    CHECK(inbox.prune(30 * 24h) == 0);
    CHECK(database.value("SELECT string_agg(event_id, ' ') FROM seriatim.inbox") == "new");
    CHECK_THROWS_AS(inbox.prune(0h), InboxRefusal);
  }

  TEST_CASE("without the schema, the refusal says how to get it") {
    SqlSession(shared_server().url()).run("CREATE DATABASE no_inbox");
    Inbox inbox(shared_server().url("no_inbox"), "billing");
    CHECK_THROWS_WITH_AS(inbox.once("p:1", [](Transaction&) {}),
                         doctest::Contains("`seriatim init` installs schema seriatim"),
                         InboxRefusal);
  }
}

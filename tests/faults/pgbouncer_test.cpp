// FAULTS.md 21: a real PgBouncer between the relay and its database. Every transaction may come to
// another backend, left by others as they liked; what is relied upon comes with each transaction.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "lab/http/http_service.hpp"
#include "postgres/admin/check/check.hpp"
#include "postgres/source.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/postgres.hpp"
#include "support/in_process_relay.hpp"
#include "support/pgbouncer.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using seriatim::lab::HttpService;
using seriatim::testing::DeliveryLog;
using seriatim::testing::InProcessRelay;
using seriatim::testing::PgBouncer;
using seriatim::testing::RelayProgram;
using seriatim::testing::shared_server;
using seriatim::testing::SqlSession;
using seriatim::testing::TemporaryFolder;
using seriatim::testing::TestDatabase;

namespace {

PgBouncer::Options one_backend(const std::string& more = {}) {
  return {.pool_mode = "transaction", .pool_size = 1, .settings = more};
}

ProcessConfig process() {
  ProcessConfig config;
  config.name = "p";
  config.poll_interval_max = 20ms;
  config.standby_interval = 20ms;
  return config;
}

SourceConfig source(const std::string& table = "public.t") {
  SourceConfig config;
  config.table = table;
  return config;
}

/// A table whose rows read differently under other settings.
struct Outbox {
  explicit Outbox(const PgBouncer::Options& options) : pooler(shared_server().port(), options) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " bytes bytea DEFAULT '\\xdeadbeef', number double precision DEFAULT 1/3::float8,"
        " pause interval DEFAULT '26 hours', price money DEFAULT 1234.5, word text DEFAULT 'a\\b',"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id)");
  }
  void append(int rows) {
    database.run("INSERT INTO t (word) SELECT 'a\\b' FROM generate_series(1, " +
                 std::to_string(rows) + ")");
  }
  std::string url() const { return pooler.url(database.name()); }

  TestDatabase database;
  PgBouncer pooler;
};

/// What a client may leave behind, as far as another client of the pool would find it.
constexpr const char* litter =
    "SET TimeZone = 'Asia/Kathmandu'; SET DateStyle = 'German'; SET bytea_output = 'escape';"
    "SET IntervalStyle = 'iso_8601'; SET extra_float_digits = -10; SET search_path = decoy;"
    "SET standard_conforming_strings = off; SET client_encoding = 'LATIN1';"
    "SET synchronous_commit = off; SET statement_timeout = '7s'; SET lock_timeout = '7s';"
    "SET idle_in_transaction_session_timeout = '7s'; SET row_security = off;"
    "SET default_transaction_isolation = 'serializable'; SET default_transaction_read_only = on;"
    "SET quote_all_identifiers = on; SET array_nulls = off; SET exit_on_error = on;"
    "SET ROLE pg_monitor";

HandlerFactory into(DeliveryLog& log) {
  return handler_from([&log](const Record& record) {
    log.add(record);
    return Outcome::done();
  });
}

std::vector<std::string> payloads(const std::string& url, const SourceConfig& table,
                                  const std::string& name, std::size_t rows) {
  DeliveryLog log;
  auto config = process();
  config.name = name;
  InProcessRelay relay(postgres_source(url, table), config, into(log));
  CHECK(log.wait_for_rows(rows));
  relay.stop();
  std::vector<std::string> texts;
  for (const auto& record : log.records()) texts.push_back(record.payload.value_or("NULL"));
  return texts;
}

/// Everything of a backend that its next client would find.
std::vector<SqlSession::Row> state_of(SqlSession& session) {
  return session.run(
      "SELECT name, setting FROM pg_settings WHERE source = 'session'"
      " UNION ALL SELECT 'prepared', name FROM pg_prepared_statements"
      " UNION ALL SELECT 'cursor', name FROM pg_cursors"
      " UNION ALL SELECT 'listens', * FROM pg_listening_channels()"
      " UNION ALL SELECT 'role', current_user"
      " UNION ALL SELECT 'lock', mode FROM pg_locks WHERE locktype = 'advisory'"
      " UNION ALL SELECT 'backend', pg_backend_pid()::text ORDER BY 1, 2");
}

}  // namespace

TEST_SUITE("PgBouncer") {
  TEST_CASE("a pooler is recognised, and check says what it changes") {
    for (const std::string mode : {"transaction", "session"}) {
      CAPTURE(mode);
      Outbox outbox({.pool_mode = mode, .pool_size = 5, .settings = ""});
      CHECK_FALSE(postgres::Connection(outbox.url(), {}).direct());
      postgres::Target target{process(), source()};
      const auto said = [&](const std::string& url, postgres::Finding::Severity severity) {
        const auto findings = postgres::check(url, target);
        CHECK(postgres::refusals(findings) == "");
        return std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
          return finding.severity == severity &&
                 finding.what.find("goes through a pooler") != std::string::npos &&
                 finding.what.find("lease is over (10000 ms)") != std::string::npos;
        });
      };
      CHECK(said(outbox.url(), postgres::Finding::Severity::warning));
      CHECK_FALSE(said(outbox.database.url(), postgres::Finding::Severity::warning));
      target.source.listen = false;  // known, and fine
      CHECK(said(outbox.url(), postgres::Finding::Severity::ok));
    }
  }

  TEST_CASE("rows are found by polling, and no backend is taken for the holder's own") {
    for (const std::string mode : {"transaction", "session"}) {
      CAPTURE(mode);
      Outbox outbox({.pool_mode = mode, .pool_size = 5, .settings = ""});
      outbox.database.run(
          "CREATE TRIGGER hint AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION "
          "seriatim.hint()");
      DeliveryLog log;
      InProcessRelay relay(postgres_source(outbox.url(), source()), process(), into(log));
      for (std::size_t rows = 1; rows <= 5; ++rows) {
        outbox.append(1);
        REQUIRE(log.wait_for_rows(rows));
      }
      CHECK(outbox.database.value("SELECT holder IS NOT NULL AND holder_pid IS NULL"
                                  " FROM seriatim.cursor") == "t");
      relay.stop();
    }
  }

  TEST_CASE("rows read the same, whatever other clients left on the backend") {
    Outbox outbox(one_backend());
    outbox.database.run(
        "CREATE SCHEMA decoy; CREATE TABLE decoy.t (LIKE public.t INCLUDING ALL);"
        "INSERT INTO decoy.t (word) VALUES ('not this one')");
    outbox.append(3);
    const auto table = source("t");  // found by search_path
    const auto expected = payloads(outbox.database.url(), table, "direct", 3);
    SqlSession other(outbox.url());
    other.run(litter);
    const auto backend = other.value("SELECT pg_backend_pid()");
    CHECK(payloads(outbox.url(), table, "pooled", 3) == expected);
    CHECK(other.value("SELECT pg_backend_pid()") == backend);
  }

  TEST_CASE("settings of the database change nothing behind a pooler") {
    Outbox outbox(one_backend());
    outbox.append(3);
    const auto table = source();
    const auto expected = payloads(outbox.database.url(), table, "plain", 3);
    const auto set = "; ALTER DATABASE " + outbox.database.name() + " SET ";
    outbox.database.run(
        "CREATE SCHEMA evil; CREATE DOMAIN evil.text AS boolean;"
        "CREATE FUNCTION evil.to_jsonb(anyelement) RETURNS jsonb LANGUAGE sql AS $$ SELECT "
        "NULL::jsonb $$;"
        "CREATE FUNCTION evil.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS $$ "
        "SELECT "
        "now() $$" +
        set + "search_path = evil, pg_catalog, public" + set + "quote_all_identifiers = on" + set +
        "IntervalStyle = 'iso_8601'" + set + "extra_float_digits = -10" + set +
        "statement_timeout = '20ms'" + set + "default_transaction_isolation = 'serializable'" +
        set + "default_transaction_read_only = on");
    CHECK(payloads(outbox.url(), table, "pooled", 3) == expected);
    postgres::Target target{process(), table};
    CHECK(postgres::refusals(postgres::check(outbox.url(), target)) == "");
    target.process.name = "pooled";
    CHECK(postgres::Admin(outbox.url()).status(target).at(0).lag_records == 0);
  }

  TEST_CASE("session_replication_role of the database is refused behind a pooler too") {
    Outbox outbox(one_backend());
    outbox.database.run("ALTER DATABASE " + outbox.database.name() +
                        " SET session_replication_role = replica");
    CHECK_THROWS_WITH_AS(postgres::Admin(outbox.url()).status({process(), source()}),
                         doctest::Contains("session_replication_role is not origin in sessions"),
                         SourceBroken);
  }

  TEST_CASE("a table that becomes unsound halts a lane behind a pooler too") {
    Outbox outbox(one_backend());
    outbox.append(1);
    DeliveryLog log;
    InProcessRelay relay(postgres::make_source(outbox.url(), source(), {.recheck_interval = 0ms}),
                         process(), into(log));
    REQUIRE(log.wait_for_rows(1));
    outbox.database.run("ALTER TABLE t SET UNLOGGED");
    CHECK(relay.status->wait_for([](const LaneStatus& lane) {
      return lane.state == LaneState::halted && lane.reason == HaltReason::source_changed &&
             lane.detail.find("public.t is unlogged") != std::string::npos;
    }));
    relay.stop();
  }

  TEST_CASE("a transaction brings the settings it relies on") {
    Outbox outbox(one_backend());
    SqlSession other(outbox.url());
    postgres::Connection connection(outbox.url(), {"seriatim/p/0", 1000ms, 500ms, 35'000ms});
    other.run(litter);
    const auto setting = [&](const std::string& name) {
      return connection.run("SELECT current_setting($1)", {name})[0][0].as<std::string>();
    };
    CHECK(setting("transaction_isolation") == "read committed");
    CHECK(setting("transaction_read_only") == "off");
    CHECK(setting("TimeZone") == "UTC");
    CHECK(setting("bytea_output") == "hex");
    CHECK(setting("synchronous_commit") == "on");
    CHECK(setting("client_encoding") == "UTF8");
    CHECK(setting("row_security") == "on");
    CHECK(setting("statement_timeout") == "1s");
    CHECK(setting("lock_timeout") == "500ms");
    CHECK(setting("idle_in_transaction_session_timeout") == "35s");
    CHECK(setting("application_name") == "seriatim/p/0");
    CHECK(setting("role") == "none");
    connection.begin("SELECT 1");  // and so do transactions of several statements
    CHECK(setting("synchronous_commit") == "on");
    CHECK(setting("idle_in_transaction_session_timeout") == "35s");
    connection.rollback();
  }

  TEST_CASE("nothing of ours is left to others") {
    Outbox outbox(one_backend());
    SqlSession other(outbox.url());
    other.run(litter);
    other.run("RESET ROLE");
    const auto before = state_of(other);
    outbox.append(3);
    payloads(outbox.url(), source(), "p", 3);
    CHECK(postgres::refusals(postgres::check(outbox.url(), {process(), source()})) == "");
    CHECK(state_of(other) == before);
  }

  TEST_CASE("a pool that resets its backends after every transaction does as well") {
    Outbox outbox(one_backend("server_reset_query_always = 1\n"));
    outbox.append(3);
    CHECK(payloads(outbox.url(), source(), "p", 3).size() == 3);
  }

  TEST_CASE(
      "a pooler that leads to another server than before, or to a standby, ends the session") {
    Outbox outbox(one_backend());
    postgres::Connection connection(outbox.url(), {});
    CHECK(connection.run("SELECT 1")[0][0].as<int>() == 1);
    const TemporaryFolder folder;
    embedded::EmbeddedServer elsewhere({folder.path() / "elsewhere", {}, {}});
    SqlSession(elsewhere.url()).run("CREATE DATABASE " + outbox.database.name());
    outbox.pooler.lead_to(elsewhere.port());
    const auto refused = [&](postgres::Connection& session, const std::string& why) {
      const auto deadline = std::chrono::steady_clock::now() + 20s;
      while (std::chrono::steady_clock::now() < deadline) {
        try {
          session.begin("SELECT 1");
          session.rollback();
        } catch (const SessionLost& lost) {
          return std::string(lost.what()).find(why) != std::string::npos;
        }
      }
      return false;
    };
    CHECK(refused(connection, "leads to another server than before"));
    elsewhere.stop(embedded::EmbeddedServer::Stop::fast);
    const auto signal = folder.path() / "elsewhere" / "data" / "standby.signal";
    std::ofstream(signal).close();
    std::filesystem::permissions(signal, std::filesystem::perms::all);
    elsewhere.start();
    postgres::Connection replica(outbox.url(), {});
    CHECK(refused(replica, "leads to a standby"));
  }

  TEST_CASE("a handler may write in the transaction that moves the cursor") {
    Outbox outbox(one_backend());
    outbox.database.run("CREATE TABLE model (id text)");
    outbox.append(3);
    DeliveryLog log;
    bool refused = false;
    const auto writes = [&](const Record& record, const CallContext& context) {
      const auto write = [&] {
        context.transaction->run("INSERT INTO model VALUES ($1)", {record.id()});
      };
      if (record.id() == "3" && !std::exchange(refused, true)) {
        outbox.database.run("UPDATE seriatim.cursor SET epoch = epoch + 1, holder = 'another'");
        CHECK_THROWS_WITH_AS(write(), doctest::Contains("the lane was taken"), SessionLost);
        outbox.database.run("UPDATE seriatim.cursor SET holder = NULL");
        throw SessionLost("as the transaction said");
      }
      write();
      log.add(record);
      return Outcome::done();
    };
    InProcessRelay relay(postgres_source(outbox.url(), source()), process(), handler_from(writes));
    CHECK(log.wait_for_rows(3));
    CHECK(outbox.database.becomes_true("SELECT sequence = 3 FROM seriatim.cursor"));
    relay.stop();
    CHECK(refused);
    CHECK(outbox.database.value("SELECT string_agg(id, ' ' ORDER BY id) FROM model") == "1 2 3");
  }

  TEST_CASE("two relays, one holder; after kill -9 the other takes over when the lease is over") {
    Outbox outbox({.pool_mode = "transaction", .pool_size = 5, .settings = ""});
    HttpService receiver;
    TemporaryFolder folder;
    const auto config =
        testing::database_section(outbox.url()) +
        testing::http_process("p", "public.t", "created_at", receiver.url(),
                              "lease = \"1s\"\nhandler_deadline = \"1s\"\n", "listen = false\n");
    const auto holder_is = [&](pid_t pid) {
      return outbox.database.becomes_true("SELECT split_part(holder, ':', 2) = '" +
                                          std::to_string(pid) + "' FROM seriatim.cursor");
    };
    RelayProgram first(folder, "first", config);
    outbox.append(1);
    REQUIRE(receiver.wait_for_requests(1, 30s));
    RelayProgram second(folder, "second", config);
    testing::wait_until("the second stands by",
                        [&] { return second.log().find("standby") != std::string::npos; });
    REQUIRE(holder_is(first.pid()));
    outbox.append(20);
    REQUIRE(receiver.wait_for_requests(21, 30s));
    first.kill();
    outbox.append(20);
    CHECK(holder_is(second.pid()));
    REQUIRE(receiver.wait_for_requests(41, 30s));
    CHECK(outbox.database.becomes_true("SELECT sequence = 41 FROM seriatim.cursor"));
    CHECK(receiver.request_count() <= 42);  // the row in flight at the kill
    CHECK(outbox.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'claim'") ==
          "2");
    CHECK(second.stop().code == 0);
  }

  TEST_CASE(
      "torture through a pooler, relays killed: nothing lost, reordered or repeated too often") {
    // Writers and relays share the backends: a poll comes to one that wrote the table just before.
    Outbox outbox({.pool_mode = "transaction", .pool_size = 25, .settings = ""});
    testing::Process torture({SERIATIM_PROGRAM, "torture", "--database", outbox.url(), "--minutes",
                              "0.2", "--relays", "2", "--kill"});
    const auto ended = torture.wait(std::chrono::minutes{3});
    MESSAGE(ended.out);
    CHECK_MESSAGE(ended.code == 0, ended.err);
  }
}

// FAULTS.md 16, 17, 41 (the relay's side): the database goes away in every way it can, and no row
// is lost, overtaken or repeated beyond the bound.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "lab/proxy/fault_proxy.hpp"
#include "seriatim/postgres.hpp"
#include "support/in_process_relay.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::DeliveryLog;
using testing::InProcessRelay;
using testing::TestDatabase;
using torture::FaultProxy;
using torture::Side;

namespace {

ProcessConfig process() {
  ProcessConfig config;
  config.name = "p";
  config.backoff.first = 1ms;
  config.backoff.max = 20ms;
  config.poll_interval_max = 20ms;
  config.standby_interval = 20ms;
  return config;
}

/// A database with a table of `rows` rows, ids 1 to `rows`.
struct Outbox {
  explicit Outbox(int rows) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp())");
    append(rows);
  }
  void append(int rows) {
    database.run("INSERT INTO t (payload) SELECT 'x' FROM generate_series(1, " +
                 std::to_string(rows) + ")");
  }
  std::shared_ptr<Source> source() const { return source(database.url()); }
  static std::shared_ptr<Source> source(const std::string& url) {
    SourceConfig config;
    config.table = "public.t";
    return postgres_source(url, config);
  }
  std::string kill_relays() {
    return database.value(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name LIKE 'seriatim/%' AND datname = current_database()");
  }
  bool cursor_reaches(int sequence) {
    return database.becomes_true("SELECT sequence = " + std::to_string(sequence) +
                                 " FROM seriatim.cursor");
  }

  TestDatabase database;
};

/// The same database by another way; of two values for one setting libpq takes the later.
std::string with(const std::string& url, const std::string& settings) {
  return url + (url.find('?') == std::string::npos ? '?' : '&') + settings;
}

HandlerFactory into(DeliveryLog& log) {
  return handler_from([&log](const Record& record) {
    log.add(record);
    return Outcome::done();
  });
}

/// Order of first deliveries, sequence by id, and the number of repeats.
std::size_t repeats_of_ordered(const std::vector<Record>& records) {
  std::map<std::string, std::uint64_t> sequence_of;
  std::uint64_t last = 0;
  std::size_t repeats = 0;
  for (const auto& record : records) {
    const auto [known, first] = sequence_of.try_emplace(record.id(), record.sequence);
    CHECK(known->second == record.sequence);
    if (first) {
      CHECK(record.sequence == last + 1);
      CHECK(std::stoull(record.id()) == record.sequence);
      last = record.sequence;
    } else {
      CHECK(record.sequence == last);  // only the row after the last committed cursor
      repeats += 1;
    }
  }
  return repeats;
}

}  // namespace

TEST_SUITE("faults of the database") {
  TEST_CASE("backends killed again and again: everything in order, at most one repeat a kill") {
    Outbox outbox(200);
    DeliveryLog log;
    InProcessRelay relay(outbox.source(), process(), into(log));
    std::size_t kills = 0;
    for (std::size_t rows = 20; rows <= 200; rows += 20) {
      REQUIRE(log.wait_for_rows(rows));
      kills += std::stoul(outbox.kill_relays());
    }
    REQUIRE(outbox.cursor_reaches(200));
    relay.stop();
    CHECK(kills > 0);
    CHECK(repeats_of_ordered(log.records()) <= kills);
  }

  TEST_CASE("the server is restarted with -m immediate: it goes on after the committed cursor") {
    const testing::TemporaryFolder folder;
    embedded::EmbeddedServer server({folder.path() / "postgres", {}, {}});
    install_schema(server.url());
    testing::SqlSession(server.url())
        .run(
            "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
            " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
            "INSERT INTO t (payload) SELECT 'x' FROM generate_series(1, 300)");
    DeliveryLog log;
    InProcessRelay relay(Outbox::source(server.url()), process(), into(log));
    for (const std::size_t rows : {50U, 100U, 150U}) {
      REQUIRE(log.wait_for_rows(rows));
      server.stop(embedded::EmbeddedServer::Stop::immediate);
      CHECK(relay.status->wait_for(
          [](const LaneStatus& s) { return s.state == LaneState::claiming; }));
      server.start();
    }
    REQUIRE(log.wait_for_rows(300));
    relay.stop();
    CHECK(repeats_of_ordered(log.records()) <= 3);
  }

  TEST_CASE("no connection to be had (53300): it waits, says so, and goes on") {
    Outbox outbox(3);
    outbox.database.run(
        "CREATE ROLE narrow LOGIN CONNECTION LIMIT 1;"
        "GRANT ALL ON SCHEMA seriatim, public TO narrow;"
        "GRANT ALL ON ALL TABLES IN SCHEMA seriatim, public TO narrow;"
        "GRANT ALL ON ALL SEQUENCES IN SCHEMA seriatim TO narrow");
    const auto narrow = with(outbox.database.url(), "user=narrow");
    DeliveryLog log;
    {
      const testing::SqlSession takes_it(narrow);
      InProcessRelay relay(Outbox::source(narrow), process(), into(log));
      CHECK(relay.status->wait_for([](const LaneStatus& s) {
        return s.state == LaneState::claiming &&
               s.detail.find("too many connections") != std::string::npos;
      }));
      CHECK(log.size() == 0);
    }
    InProcessRelay relay(Outbox::source(narrow), process(), into(log));
    CHECK(log.wait_for_rows(3));
    relay.stop();
    outbox.database.run("DROP OWNED BY narrow; DROP ROLE narrow");
  }

  TEST_CASE("statements fail with errors that pass: retried, not counted against the row") {
    // Raised by the server itself inside our UPDATE of the cursor, as a full disk or a deadlock is.
    for (const char* sqlstate : {"53100", "40001", "40P01", "57014", "55P03"}) {
      CAPTURE(sqlstate);
      Outbox outbox(5);
      outbox.database.run(
          "CREATE SEQUENCE failures_left;"
          "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
          "  IF nextval('failures_left') <= 4 THEN"
          "    RAISE EXCEPTION 'injected' USING ERRCODE = '" +
          std::string(sqlstate) +
          "';"
          "  END IF; RETURN NEW; END $$;"
          "CREATE TRIGGER fail BEFORE UPDATE ON seriatim.cursor FOR EACH ROW"
          "  WHEN (NEW.sequence > OLD.sequence) EXECUTE FUNCTION fail()");
      DeliveryLog log;
      auto config = process();
      config.max_attempts = 2;  // were they counted, the row would halt as poison
      config.max_crashes = 1;
      InProcessRelay relay(outbox.source(), config, into(log));
      CHECK(outbox.cursor_reaches(5));
      relay.stop();
      // A time limit that was over is lifted, and the same tried again before the row is.
      const bool limit = sqlstate == "57014"s || sqlstate == "55P03"s;
      CHECK(repeats_of_ordered(log.records()) == (limit ? 2 : 4));
    }
  }

  TEST_CASE(
      "a fetch is cancelled, deadlocked or cannot be serialised: fetched again, no row knows") {
    // `where` calls a function of the user, so it fails inside the very statement that reads rows.
    for (const char* failure : {"PERFORM pg_cancel_backend(pg_backend_pid()); PERFORM pg_sleep(20)",
                                "RAISE EXCEPTION 'injected' USING ERRCODE = '40P01'",
                                "RAISE EXCEPTION 'injected' USING ERRCODE = '40001'"}) {
      CAPTURE(std::string(failure));
      Outbox outbox(5);
      outbox.database.run(
          "CREATE SEQUENCE fetches;"
          "CREATE FUNCTION fails_at_first(n bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN"
          "  IF nextval('fetches') <= 3 THEN " +
          std::string(failure) + "; END IF; RETURN n > 0; END $$");
      SourceConfig table;
      table.table = "public.t";
      table.where = "fails_at_first(t.id)";
      auto config = process();
      config.max_attempts = 1;  // were it counted, the first row would halt as poison
      config.max_crashes = 1;
      DeliveryLog log;
      InProcessRelay relay(postgres_source(outbox.database.url(), table), config, into(log));
      REQUIRE(outbox.cursor_reaches(5));
      relay.stop();
      CHECK(relay.status->wait_for([](const LaneStatus& s) {
        return s.state == LaneState::claiming && s.detail.find("SQLSTATE") != std::string::npos;
      }));
      const auto records = log.records();
      CHECK(repeats_of_ordered(records) == 0);
      for (const auto& record : records) CHECK(record.attempt == 1);
    }
  }

  TEST_CASE("the cursor's transaction loses a deadlock: the row again, not counted against it") {
    Outbox outbox(3);
    outbox.database.run("ALTER TABLE t ADD dispatched_at timestamptz");
    SourceConfig table;
    table.table = "public.t";
    table.delivered_at_column = "dispatched_at";
    auto other = outbox.database.connect("other");
    other.run("SET deadlock_timeout = '60s'; BEGIN; SELECT FROM t WHERE id = 2 FOR UPDATE");
    auto config = process();
    config.max_attempts = 1;
    config.max_crashes = 1;
    DeliveryLog log;
    InProcessRelay relay(postgres_source(outbox.database.url(), table), config, into(log));
    REQUIRE(outbox.database.becomes_true(
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'seriatim/p/0'"
        " AND datname = current_database() AND wait_event_type = 'Lock')"));  // it marks row 2
    other.run("UPDATE seriatim.cursor SET updated_at = updated_at");  // until the relay gave up
    other.run("COMMIT");
    REQUIRE(outbox.cursor_reaches(3));
    relay.stop();
    CHECK(relay.status->wait_for([](const LaneStatus& s) {
      return s.state == LaneState::claiming && s.detail.find("deadlock") != std::string::npos;
    }));
    CHECK(repeats_of_ordered(log.records()) == 1);
  }

  TEST_CASE("the connection dies inside COMMIT: the cursor is read again, whatever had happened") {
    Outbox outbox(30);
    DeliveryLog log;
    SUBCASE("before the commit took place") {
      outbox.database.run(
          "CREATE SEQUENCE commits;"
          "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
          "  IF nextval('commits') % 7 = 0 THEN PERFORM pg_terminate_backend(pg_backend_pid()); "
          "END IF;"
          "  RETURN NULL; END $$;"
          "CREATE CONSTRAINT TRIGGER die AFTER UPDATE ON seriatim.cursor DEFERRABLE INITIALLY "
          "DEFERRED"
          "  FOR EACH ROW WHEN (NEW.sequence > OLD.sequence) EXECUTE FUNCTION die()");
      InProcessRelay relay(outbox.source(), process(), into(log));
      REQUIRE(outbox.cursor_reaches(30));
      relay.stop();
      const auto repeats = repeats_of_ordered(log.records());
      CHECK(repeats >= 3);
      CHECK(repeats <= 5);
    }
    SUBCASE("on the network") {
      auto side = Side::client;
      unsigned commits_later = 1;  // the advance, or the commit before the next row's first call
      SUBCASE("after the commit, its answer lost") {}
      SUBCASE("before the commit, it never arrived") {
        side = Side::server;
      }
      SUBCASE("the same for a commit further on") {
        commits_later = 3;
      }
      FaultProxy proxy("127.0.0.1", static_cast<unsigned short>(testing::shared_server().port()));
      const auto through = with(outbox.database.url(), "host=127.0.0.1&sslmode=disable&port=" +
                                                           std::to_string(proxy.port()));
      const auto dropping = handler_from([&](const Record& record) {
        log.add(record);
        if (record.sequence % 5 == 0 && record.attempt == 1) proxy.drop_commit(side, commits_later);
        return Outcome::done();
      });
      InProcessRelay relay(Outbox::source(through), process(), dropping);
      REQUIRE(outbox.cursor_reaches(30));
      relay.stop();
      CHECK(proxy.counts().dropped >= 5);
      // It checked before it repeated: only what the server had not committed came again.
      const auto repeats = repeats_of_ordered(log.records());
      CHECK(repeats == (side == Side::server ? proxy.counts().dropped : 0));
    }
  }

  TEST_CASE("fifty starts of two relays at once: exactly one is active per lane") {
    Outbox outbox(0);
    for (int i = 1; i <= 50; ++i) {
      DeliveryLog log;
      InProcessRelay one(outbox.source(), process(), into(log));
      InProcessRelay two(outbox.source(), process(), into(log));
      outbox.append(2);
      REQUIRE(log.wait_for_rows(2));
      REQUIRE(outbox.cursor_reaches(2 * i));
      one.stop();
      two.stop();
      const auto records = log.records();
      REQUIRE(records.size() == 2);
      CHECK(records[0].sequence + 1 == records[1].sequence);
    }
    CHECK(outbox.database.value("SELECT count(*) = count(DISTINCT epoch) FROM seriatim.journal"
                                " WHERE act = 'claim'") == "t");
  }
}

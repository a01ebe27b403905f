// Does this server show the locks the fence rests on? And do we read its own pg_locks?
#include "postgres/admin/check/check_probe.hpp"

#include <doctest/doctest.h>

#include "postgres/check_fixture.hpp"
#include "postgres/lane_fixture.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::check;

namespace {

std::string prepared_count(TestDatabase& database) {
  return database.value("SELECT count(*) FROM pg_prepared_xacts WHERE gid LIKE 'seriatim%'");
}

postgres::Table cursor_table(TestDatabase& database) {
  postgres::Table table;
  table.name = "seriatim.cursor";
  table.oid = database.value("SELECT 'seriatim.cursor'::regclass::oid");
  return table;
}

}  // namespace

TEST_CASE(
    "check sees the locks of another session and of a prepared transaction, and leaves none") {
  TestDatabase database;
  database.run(sound_table);
  const auto findings = check(database.url(), target_of());
  INFO(text_of(findings));
  CHECK(find(findings, Severity::ok, "another session on public.bookings is seen"));
  CHECK(find(findings, Severity::ok,
             "another session on seriatim.cursor is seen, that of a prepared transaction too"));
  CHECK(prepared_count(database) == "0");
  CHECK(database.value("SELECT count(*) FROM pg_locks WHERE relation = 'bookings'::regclass"
                       " AND mode = 'RowExclusiveLock'") == "0");
}

TEST_CASE("a role that may only read the table probes with the cursor's") {
  TestDatabase database;
  database.run(sound_table);
  const LeastRole role(database, "public.bookings");
  const auto findings = check(role.url(), target_of());
  INFO(text_of(findings));
  CHECK_FALSE(find(findings, Severity::ok, "on public.bookings is seen"));
  CHECK(find(findings, Severity::ok, "on seriatim.cursor is seen, that of a prepared"));
}

TEST_CASE("a table locked against writers is not waited for") {
  TestDatabase database;
  database.run(sound_table);
  auto ddl = database.connect();
  ddl.run("BEGIN; LOCK TABLE seriatim.cursor IN SHARE MODE");
  const auto findings = check(database.url(), target_of());
  CHECK(find(findings, Severity::warning, "the fence was not probed"));
  CHECK(of(Severity::refusal, findings).empty());
}

TEST_CASE("locks read from where they do not show are refused in the words of guard latency") {
  TestDatabase database;
  const TestDatabase elsewhere;  // of the same template, so the cursor's table has the same oid
  postgres::Connection eye(elsewhere.url(), {});
  postgres::Connection other(database.url(), {});
  const auto facts = postgres::probe_locks(eye, other, cursor_table(database), true);
  REQUIRE(facts);
  CHECK_FALSE(facts->lock_seen);
  CHECK(facts->prepared_seen == false);
  CHECK(prepared_count(database) == "0");

  postgres::Findings findings;
  postgres::judge_probe(*facts, findings);
  postgres::judge_probe({"seriatim.cursor", true, false}, findings);
  postgres::judge_probe({"seriatim.cursor", true, std::nullopt}, findings);
  const auto all = findings.take();
  REQUIRE(all.size() == 3);
  CHECK(find(all, Severity::refusal, "does not show the lock that another session holds"));
  CHECK(find(all, Severity::refusal, "does not show the lock that a prepared transaction holds"));
  CHECK(contains(all[0].remedy, "guard = \"latency\""));
  CHECK(contains(all[0].remedy, "loses rows"));
  CHECK(all[2].severity == Severity::ok);
}

TEST_CASE("a probe killed in between is rolled back by a later one, others' are left") {
  TestDatabase database;
  auto killed = database.connect();
  killed.run(
      "BEGIN; LOCK TABLE seriatim.cursor IN ROW EXCLUSIVE MODE; "
      "PREPARE TRANSACTION 'seriatim_probe_17'");
  killed.run("BEGIN; CREATE TABLE theirs (); PREPARE TRANSACTION 'seriatimXprobe_17'");
  postgres::Connection connection(database.url(), {});
  postgres::forget_leftover_probes(connection, std::chrono::minutes(5));
  CHECK(prepared_count(database) == "2");
  postgres::forget_leftover_probes(connection, std::chrono::minutes(0));
  CHECK(prepared_count(database) == "1");
  killed.run("ROLLBACK PREPARED 'seriatimXprobe_17'");
}

TEST_CASE("a search_path with a pg_locks of its own does not blind the fence") {
  TestDatabase database;
  database.run(
      "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
      " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
      "CREATE SCHEMA evil;"
      "CREATE VIEW evil.pg_locks AS SELECT * FROM pg_catalog.pg_locks WHERE false;"
      "ALTER DATABASE " +
      database.name() + " SET search_path = evil, public, pg_catalog");
  auto witness = database.connect();
  REQUIRE(witness.value("SELECT count(*) FROM pg_locks") == "0");
  Opened opened(database, table("t"));
  REQUIRE(opened.lane.poll().records.empty());  // the fence has read the locks once
  auto writer = database.connect("writer");
  writer.run("BEGIN; INSERT INTO t (payload) VALUES ('early')");
  database.run("INSERT INTO t (payload) VALUES ('late')");
  const auto round = opened.lane.poll();
  CHECK(round.records.empty());
  CHECK(round.fenced);
  writer.run("COMMIT");
  CHECK(opened.lane.deliver() == Ids{"1", "2"});
}

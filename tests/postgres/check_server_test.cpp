// What `check` says about the server, its schema, our role and its other users.
#include "postgres/admin/check/check_server.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "postgres/check_fixture.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::check;
using std::chrono::milliseconds;

TEST_CASE("a missing, older or newer schema is refused") {
  TestDatabase database;
  database.run(sound_table);
  database.run("INSERT INTO seriatim.migration VALUES (9999, 'future')");
  CHECK(find(check(database.url(), target_of()), Severity::refusal, "has version 9999"));
  database.run("DELETE FROM seriatim.migration");
  auto older = find(check(database.url(), target_of()), Severity::refusal, "has version 0");
  REQUIRE(older);
  CHECK(older->remedy == "seriatim init");
  database.run("DROP SCHEMA seriatim CASCADE");
  CHECK(find(check(database.url(), target_of()), Severity::refusal, "is not installed"));
}

TEST_CASE("a role that lacks a right is refused with the GRANT that gives it") {
  TestDatabase database;
  database.run(sound_table);
  database.run("ALTER TABLE bookings ADD dispatched_at timestamptz");
  const LeastRole role(database, "");
  auto target = target_of();
  target.source.delivered_at_column = "dispatched_at";
  std::vector<std::string> grants;
  for (int round = 0; round < 20; ++round) {
    const auto refused = of(Severity::refusal, check(role.url(), target));
    if (refused.empty()) break;
    for (const auto& finding : refused) {
      grants.push_back(finding.remedy);
      REQUIRE_NOTHROW(database.run(finding.remedy));
    }
  }
  CAPTURE(grants.size());
  CHECK(postgres::refusals(check(role.url(), target)).empty());
  const auto granted = [&](const std::string& text) {
    return std::count(grants.begin(), grants.end(), text + " TO " + role.name()) == 1;
  };
  CHECK(granted("GRANT USAGE ON SCHEMA seriatim"));
  CHECK(granted("GRANT UPDATE ON TABLE seriatim.cursor"));
  CHECK(granted("GRANT SELECT ON public.bookings"));
  CHECK(granted("GRANT UPDATE (dispatched_at) ON public.bookings"));
}

TEST_CASE("a right that only operators miss is a warning, with the GRANT that gives it") {
  TestDatabase database;
  database.run(sound_table);
  const LeastRole role(database, "public.bookings");
  const auto warned = [&] {
    return find(check(role.url(), target_of()), Severity::warning, "a right on seriatim.");
  };
  CHECK_FALSE(warned());
  for (const auto* table : {"audit_report", "history", "alert", "relay"}) {
    CAPTURE(table);
    const auto name = std::string("seriatim.") + table;
    database.run("REVOKE SELECT, INSERT ON " + name + " FROM " + role.name());
    CHECK(postgres::refusals(check(role.url(), target_of())).empty());
    const auto warning = warned();
    REQUIRE(warning);
    CHECK(warning->remedy == "GRANT INSERT, SELECT ON TABLE " + name + " TO " + role.name());
    database.run(warning->remedy);
    CHECK_FALSE(warned());
  }
}

TEST_CASE("row-level security that hides rows is refused, a policy that shows all is accepted") {
  TestDatabase database;
  database.run(sound_table);
  const LeastRole role(database, "public.bookings");
  database.run(
      "ALTER TABLE bookings ENABLE ROW LEVEL SECURITY;"
      "CREATE POLICY a_part ON bookings USING (status = 'booked')");
  CHECK(postgres::refusals(check(database.url(), target_of())).empty());  // superusers see all
  const auto refusal =
      find(check(role.url(), target_of()), Severity::refusal, "row-level security hides rows");
  REQUIRE(refusal);
  database.run(first_statement(refusal->remedy));
  CHECK(postgres::refusals(check(role.url(), target_of())).empty());
  database.run("CREATE POLICY fewer ON bookings AS RESTRICTIVE USING (status IS NOT NULL)");
  CHECK(find(check(role.url(), target_of()), Severity::refusal, "row-level security"));
}

TEST_CASE("the owner of a table that forces row-level security on itself is refused") {
  TestDatabase database;
  database.run(sound_table);
  const LeastRole role(database, "");
  database.run("ALTER TABLE bookings OWNER TO " + role.name());
  database.run("ALTER TABLE bookings ENABLE ROW LEVEL SECURITY");
  CHECK_FALSE(find(check(role.url(), target_of()), Severity::refusal, "row-level security"));
  database.run("ALTER TABLE bookings FORCE ROW LEVEL SECURITY");
  CHECK(find(check(role.url(), target_of()), Severity::refusal, "row-level security"));
}

TEST_CASE("a sequence we may not read is not trusted when the table ends before the cursor") {
  TestDatabase database;
  database.run(sound_table);
  database.run(
      "INSERT INTO bookings (status) SELECT 'booked' FROM generate_series(1, 10);"
      "DELETE FROM bookings WHERE id > 5;"
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, position_id)"
      "VALUES ('p', 0, 1, clock_timestamp(), '10')");
  const LeastRole role(database, "public.bookings");
  auto target = target_of();
  by_id(target);
  const auto refusal = find(check(role.url(), target), Severity::refusal, "may not read");
  REQUIRE(refusal);
  database.run(refusal->remedy);  // the sequence is at 10: rows were deleted, nothing is wrong
  CHECK(postgres::refusals(check(role.url(), target)).empty());
}

TEST_CASE("producers without an idle-in-transaction timeout are warned of") {
  TestDatabase database;
  database.run(sound_table);
  const std::string what = "idle_in_transaction_session_timeout is 0";
  const auto warning = find(check(database.url(), target_of()), Severity::warning, what);
  REQUIRE(warning);
  database.run(warning->remedy);
  CHECK_FALSE(find(check(database.url(), target_of()), Severity::warning, what));
}

TEST_CASE("a prepared transaction nobody ended is warned of by its name") {
  TestDatabase database;
  auto producer = database.connect();
  producer.run("BEGIN; CREATE TABLE forgotten (); PREPARE TRANSACTION 'it''s old'");
  postgres::Connection connection(database.url(), {});
  postgres::Findings findings;
  postgres::check_prepared_transactions(connection, std::chrono::minutes(10), findings);
  CHECK(findings.take().empty());
  postgres::check_prepared_transactions(connection, std::chrono::minutes(0), findings);
  const auto warning = find(findings.take(), Severity::warning, "'it''s old'");
  REQUIRE(warning);
  database.run(first_statement(warning->remedy));
  postgres::check_prepared_transactions(connection, std::chrono::minutes(0), findings);
  CHECK(findings.take().empty());
}

TEST_CASE("guard latency is said to lose rows") {
  TestDatabase database;
  database.run(sound_table);
  auto target = target_of();
  target.source.guard = Guard::latency;
  CHECK(find(check(database.url(), target), Severity::warning,
             "loses rows whose transactions stay open longer than insert_latency"));
}

TEST_CASE("servers on which the fence cannot hold are refused") {
  postgres::ServerFacts facts{.version = "PostgreSQL 15.8 (Debian 15.8-0+deb12u1)",
                              .release = "15.8",
                              .version_number = 150008,
                              .idle_timeout = milliseconds{60'000}};
  const auto judged = [&](Guard guard = Guard::fence) {
    postgres::Findings findings;
    postgres::judge_server(facts, guard, findings);
    return findings.take();
  };
  CHECK(of(Severity::ok, judged()).size() == judged().size());

  facts.version_number = 130004;
  CHECK(find(judged(), Severity::refusal, "older than 14"));
  facts.version_number = 150008;

  for (const auto* version : {"CockroachDB CCL v23.1.11", "PostgreSQL 11.2-YB-2.20.1.0-b0"}) {
    facts.version = version;
    CHECK(find(judged(), Severity::refusal, "is not PostgreSQL but"));
    CHECK(of(Severity::refusal, judged(Guard::latency)).empty());
    CHECK(find(judged(Guard::latency), Severity::warning, "is not PostgreSQL but"));
  }
  facts.version = "PostgreSQL 15.8";

  facts.local = false;
  CHECK(find(judged(), Severity::warning, "not encrypted"));
  facts.tls = true;
  CHECK_FALSE(find(judged(), Severity::warning, "not encrypted"));

  facts.clock_ahead = milliseconds{-1500};
  CHECK(find(judged(), Severity::warning, "-1500 ms ahead"));
  facts.superuser = true;
  CHECK(find(judged(), Severity::warning, "superuser"));
}

TEST_CASE("a standby is refused") {
  namespace fs = std::filesystem;
  const auto folder = shared_server().log_file().parent_path().parent_path() / "standby";
  {
    embedded::EmbeddedServer server({folder, {}, {}});
    server.stop(embedded::EmbeddedServer::Stop::fast);
    std::ofstream(folder / "data" / "standby.signal").close();
    fs::permissions(folder / "data" / "standby.signal", fs::perms::all);
    server.start();
    const auto findings = check(server.url(), target_of());
    CHECK(find(findings, Severity::refusal, "the server is a standby"));
  }
  fs::remove_all(folder);
}

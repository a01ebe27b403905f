#include "postgres/check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "postgres/check_server.hpp"
#include "postgres/least_role.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using postgres::check;
using postgres::Finding;
using postgres::Target;
using testing::TestDatabase;

namespace {

using Severity = Finding::Severity;

constexpr const char* sound_table = R"(
    CREATE TABLE bookings (
        id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
        customer_id text,
        status      text,
        payload     json
    );
    CREATE INDEX ON bookings (created_at, id);)";

constexpr const char* partitioned_table = R"(
    DROP TABLE bookings;
    CREATE TABLE bookings (
        id         bigint NOT NULL DEFAULT nextval('booking_ids'),
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        status     text,
        payload    json,
        PRIMARY KEY (id, created_at)
    ) PARTITION BY RANGE (created_at);
    CREATE INDEX ON bookings (created_at, id);
    CREATE TABLE bookings_now PARTITION OF bookings DEFAULT;)";

Target target_of(const std::string& table = "public.bookings") {
  Target target;
  target.process.name = "p";
  target.source.table = table;
  return target;
}

std::vector<Finding> of(Severity severity, const std::vector<Finding>& findings) {
  std::vector<Finding> out;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(out),
               [&](const Finding& f) { return f.severity == severity; });
  return out;
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) {
    text += std::to_string(static_cast<int>(finding.severity)) + ' ' + finding.what + " | " +
            finding.mend + '\n';
  }
  return text;
}

std::optional<Finding> find(const std::vector<Finding>& findings, Severity severity,
                            const std::string& part) {
  for (const auto& finding : findings) {
    if (finding.severity == severity && finding.what.find(part) != std::string::npos) {
      return finding;
    }
  }
  return std::nullopt;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

using Configure = std::function<void(Target&)>;

/// A way a set-up is unsound. Where `mend` is empty the finding's own statement is executed.
struct Unsound {
  std::string spoil;  ///< SQL done to a sound table
  std::string what;   ///< part of what the refusal says
  Configure configure = {};
  Configure mend = {};
};

void by_id(Target& target) {
  target.source.order_by = OrderBy::id;
}

void by_created_at(Target& target) {
  target.source.order_by = OrderBy::created_at;
}

void verify(const Unsound& unsound) {
  CAPTURE(unsound.spoil);
  CAPTURE(unsound.what);
  TestDatabase database;
  database.run("CREATE SEQUENCE booking_ids");
  database.run(sound_table);
  if (!unsound.spoil.empty()) database.run(unsound.spoil);
  auto target = target_of();
  if (unsound.configure) unsound.configure(target);

  const auto before = check(database.url(), target);
  const auto refusal = find(before, Severity::refusal, unsound.what);
  INFO(text_of(before));
  REQUIRE(refusal);
  CHECK_FALSE(refusal->mend.empty());
  CHECK(postgres::refusals(before).find(refusal->what) != std::string::npos);

  if (unsound.mend) {
    unsound.mend(target);
  } else {
    CAPTURE(refusal->mend);
    REQUIRE_NOTHROW(database.run(first_line(refusal->mend)));
  }
  const auto after = check(database.url(), target);
  INFO(text_of(after));
  CHECK(of(Severity::refusal, after).empty());
}

}  // namespace

TEST_CASE("a sound table is reported line by line, without a refusal") {
  TestDatabase database;
  database.run(sound_table);
  const auto findings = check(database.url(), target_of());
  INFO(text_of(findings));
  CHECK(postgres::refusals(findings).empty());
  for (const auto* what :
       {"server: PostgreSQL", "table: public.bookings", "order: (created_at, id)",
        "id: unique by public.bookings_pkey", "index: public.bookings_created_at_id_idx serves",
        "cursor: none yet", "schema seriatim: version", "order_by = \"id\" is possible"}) {
    CAPTURE(what);
    CHECK(find(findings, Severity::ok, what));
  }
}

TEST_CASE("the ready-made outbox is sound in both orders") {
  TestDatabase database;
  auto target = target_of("seriatim.outbox");
  CHECK(postgres::refusals(check(database.url(), target)).empty());
  by_id(target);
  CHECK(postgres::refusals(check(database.url(), target)).empty());
}

TEST_CASE("in created_at order any other default than clock_timestamp() is refused and mended") {
  const std::string set = "ALTER TABLE bookings ALTER COLUMN created_at SET DEFAULT ";
  for (const auto& [expression, what] :
       {std::pair{"now()", "defaults to now(), the transaction's start"},
        std::pair{"CURRENT_TIMESTAMP", "defaults to CURRENT_TIMESTAMP, the transaction's start"},
        std::pair{"transaction_timestamp()", "the transaction's start"},
        std::pair{"statement_timestamp()", "the statement's start"},
        std::pair{"clock_timestamp() - interval '1 s'", "not to the moment of insertion"},
        std::pair{"'2024-01-01'", "not to the moment of insertion"}}) {
    verify({set + expression, what});
    verify({set + expression, what, {}, by_id});
  }
  verify({"ALTER TABLE bookings ALTER COLUMN created_at DROP DEFAULT", "has no default"});
}

TEST_CASE("a refused default names its column and both ways to mend it") {
  TestDatabase database;
  database.run(sound_table);
  database.run("ALTER TABLE bookings ALTER COLUMN created_at SET DEFAULT now()");
  const auto text = postgres::refusals(check(database.url(), target_of()));
  CHECK(text.find("public.bookings.created_at") != std::string::npos);
  CHECK(text.find("ALTER TABLE public.bookings ALTER COLUMN created_at SET DEFAULT "
                  "clock_timestamp()") != std::string::npos);
  CHECK(text.find("order_by = \"id\"") != std::string::npos);
}

TEST_CASE("a column that cannot order rows is refused and mended") {
  const std::string alter = "ALTER TABLE bookings ALTER COLUMN created_at ";
  verify({alter + "TYPE timestamp", "without time zone"});
  verify({alter + "TYPE timestamptz(3)", "rounded to 3 digits"});
  verify({alter + "DROP NOT NULL", "may be NULL"});
  verify({"ALTER TABLE bookings RENAME created_at TO made_at", "has no column created_at"});
  verify({"ALTER TABLE bookings RENAME id TO booking", "has no column id"});
  verify({alter + "DROP DEFAULT, ALTER created_at TYPE date",
          "is of type date",
          {},
          [](Target& target) { target.source.table = "seriatim.outbox"; }});
  verify({"ALTER TABLE bookings RENAME created_at TO made_at",
          "has no column created_at",
          {},
          [](Target& target) { target.source.created_at = "made_at"; }});
  verify({"ALTER TABLE bookings ADD COLUMN spot point", "is of type point",
          [](Target& target) { target.source.id = "spot"; },
          [](Target& target) { target.source.id = "id"; }});
}

TEST_CASE("an id that two rows may share is refused and mended") {
  verify({"ALTER TABLE bookings DROP CONSTRAINT bookings_pkey", "is not unique"});
  verify(
      {"ALTER TABLE bookings DROP CONSTRAINT bookings_pkey;"
       "CREATE UNIQUE INDEX ON bookings (id) WHERE status = 'booked'",
       "is not unique"});
  verify(
      {"ALTER TABLE bookings DROP CONSTRAINT bookings_pkey;"
       "CREATE UNIQUE INDEX ON bookings (id, customer_id)",
       "is not unique"});
  verify(
      {"ALTER TABLE bookings DROP CONSTRAINT bookings_pkey;"
       "ALTER TABLE bookings ALTER id DROP IDENTITY, ALTER id DROP NOT NULL;"
       "CREATE UNIQUE INDEX ON bookings (id)",
       "may be NULL"});
}

TEST_CASE("in id order a sequence that does not count one by one is refused and mended") {
  const std::string alter = "ALTER SEQUENCE bookings_id_seq ";
  verify({alter + "CACHE 20", "has CACHE 20", by_id});
  verify({alter + "INCREMENT BY 2", "has INCREMENT 2", by_id});
  verify({alter + "CYCLE", "has CYCLE", by_id});
  const std::string own_default = "ALTER TABLE bookings ALTER id DROP IDENTITY";
  verify({own_default, "is not drawn from a sequence", by_id, by_created_at});
  verify({own_default + ", ALTER id SET DEFAULT nextval('booking_ids') * 10",
          "is not drawn from a sequence", by_id, by_created_at});
  verify({"ALTER SEQUENCE booking_ids CACHE 7;" + own_default +
              ", ALTER id SET DEFAULT nextval('booking_ids')",
          "booking_ids has CACHE 7", by_id});
  verify({own_default + "; ALTER TABLE bookings ALTER id TYPE uuid USING gen_random_uuid()",
          "is not drawn from a sequence", by_id, by_created_at});
}

TEST_CASE("partitions are looked at one by one") {
  const std::string partitions = partitioned_table;
  verify({partitions + "ALTER TABLE bookings_now ALTER created_at SET DEFAULT now()",
          "public.bookings_now.created_at defaults to now()"});
  verify({partitions + "ALTER TABLE bookings_now ALTER created_at DROP DEFAULT",
          "public.bookings_now.created_at has no default"});
  verify({partitions + "ALTER TABLE bookings_now SET UNLOGGED", "bookings_now is unlogged"});
  verify({partitions + "CREATE SEQUENCE own; ALTER TABLE bookings_now ALTER id SET DEFAULT "
                       "nextval('own')",
          "public.bookings_now.id draws ids from elsewhere", by_id});
  verify({partitions + "ALTER TABLE bookings DROP CONSTRAINT bookings_pkey", "is not unique"});
  verify({R"(DROP TABLE bookings;
             CREATE TABLE bookings (
                 id uuid NOT NULL, region text NOT NULL, payload json,
                 created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
                 PRIMARY KEY (id, region)) PARTITION BY LIST (region);)",
          "unique only within a partition"});
  // Read by itself, a partition gets rows stamped by its parent's default too.
  verify({partitions + "CREATE UNIQUE INDEX ON bookings_now (id);"
                       "ALTER TABLE ONLY bookings ALTER created_at SET DEFAULT now()",
          "public.bookings.created_at defaults to now()",
          [](Target& target) { target.source.table = "bookings_now"; }});
}

TEST_CASE("a sound partitioned table is accepted in both orders") {
  TestDatabase database;
  database.run("CREATE SEQUENCE booking_ids; CREATE TABLE bookings ()");
  database.run(partitioned_table);
  auto target = target_of();
  CHECK(postgres::refusals(check(database.url(), target)).empty());
  by_id(target);
  CHECK(postgres::refusals(check(database.url(), target)).empty());
}

TEST_CASE("what is not an ordinary logged table is refused") {
  const auto read_bookings = [](Target& target) { target.source.table = "bookings"; };
  const auto read = [](const char* table) {
    return [table](Target& target) { target.source.table = table; };
  };
  verify({"ALTER TABLE bookings SET UNLOGGED", "is unlogged"});
  verify({"CREATE VIEW seen AS SELECT * FROM bookings", "is a view", read("seen"), read_bookings});
  verify({"CREATE MATERIALIZED VIEW kept AS SELECT * FROM bookings", "is a materialized view",
          read("kept"), read_bookings});
  verify(
      {"CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
       "CREATE FOREIGN TABLE far (id bigint, created_at timestamptz) SERVER s",
       "is a foreign table", read("far"), read_bookings});
  verify({"", "does not exist", read("nowhere"), read_bookings});
  verify({"", "table no.such.thing.at.all", read("no.such.thing.at.all"), read_bookings});
  verify({"CREATE TABLE child () INHERITS (bookings)", "has inheritance children"});
}

TEST_CASE("a temporary table is refused") {
  TestDatabase database;
  auto producer = database.connect();
  producer.run("CREATE TEMP TABLE passing (id bigint PRIMARY KEY, created_at timestamptz)");
  const auto table = producer.value(
      "SELECT n.nspname || '.passing' FROM pg_namespace AS n WHERE n.oid = pg_my_temp_schema()");
  const auto findings = check(database.url(), target_of(table));
  CHECK(find(findings, Severity::refusal, "is temporary"));
}

TEST_CASE("expressions the server does not understand are refused with its message") {
  const auto key = [](const char* text) {
    return [text](Target& target) { target.source.key = text; };
  };
  verify({"", "column t.custmer_id does not exist", key("t.custmer_id"), key("t.customer_id")});
  verify({"", "syntax error", key("t.customer_id ||"), key("customer_id")});
  verify({"", "key = \"count(*)\"", key("count(*)"), key("")});
  verify({"", "set-returning functions are not allowed", key("generate_series(1, 2)"), key("")});
  const auto where = [](const char* text) {
    return [text](Target& target) { target.source.where = text; };
  };
  verify({"", "must be type boolean", where("t.status::json"), where("t.status = 'booked'")});
  verify({"", "where = \"t.nothing\"", where("t.nothing"), where("t.status = 'a -- b'")});
  verify({"", "payload = ",
          [](Target& target) { target.source.payload = "1); DROP TABLE bookings; --"; },
          [](Target& target) { target.source.payload = "to_jsonb(t) -- the row"; }});
  verify(
      {"", "headers = ", [](Target& target) { target.source.headers = "t.id"; },
       [](Target& target) { target.source.headers = "jsonb_build_object('status', t.status)"; }});
}

TEST_CASE("a mark column that cannot be stamped is refused and mended") {
  const auto mark = [](Target& target) { target.source.mark = "dispatched_at"; };
  verify({"", "has no column dispatched_at to mark", mark});
  verify({"ALTER TABLE bookings ADD dispatched_at text", "of type text", mark,
          [](Target& target) { target.source.mark = ""; }});
}

TEST_CASE("a cursor that does not fit the table or the configuration is refused") {
  const std::string cursor =
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, "
      "position_id) VALUES ('p', 0, ";
  verify({cursor + "2, NULL, NULL)",
          "2 lanes by its cursor rows, 1 by the configuration",
          {},
          [](Target& target) { target.process.lanes = 2; }});
  verify({cursor + "1, '2024-01-01', '1000')", "only come to 0: new rows would be passed over",
          by_id});
  verify({cursor + "1, '2024-01-01', 'f81d4fae')", "order_by was changed under this process", by_id,
          by_created_at});
  verify({cursor + "1, clock_timestamp() + interval '1 h', '1')",
          "later than the server's clock",
          {},
          [](Target& target) { target.process.name = "another"; }});
}

TEST_CASE("a missing, older or newer schema is refused") {
  TestDatabase database;
  database.run(sound_table);
  database.run("INSERT INTO seriatim.migration VALUES (9999, 'future')");
  CHECK(find(check(database.url(), target_of()), Severity::refusal, "has version 9999"));
  database.run("DELETE FROM seriatim.migration");
  auto older = find(check(database.url(), target_of()), Severity::refusal, "has version 0");
  REQUIRE(older);
  CHECK(older->mend == "seriatim init");
  database.run("DROP SCHEMA seriatim CASCADE");
  CHECK(find(check(database.url(), target_of()), Severity::refusal, "is not installed"));
}

// --- rights -------------------------------------------------------------------------------------

TEST_CASE("a role that lacks a right is refused with the GRANT that gives it") {
  TestDatabase database;
  database.run(sound_table);
  database.run("ALTER TABLE bookings ADD dispatched_at timestamptz");
  const testing::LeastRole role(database, "");
  auto target = target_of();
  target.source.mark = "dispatched_at";
  std::vector<std::string> grants;
  for (int round = 0; round < 20; ++round) {
    const auto refused = of(Severity::refusal, check(role.url(), target));
    if (refused.empty()) break;
    for (const auto& finding : refused) {
      grants.push_back(finding.mend);
      REQUIRE_NOTHROW(database.run(finding.mend));
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

TEST_CASE("row-level security that hides rows is refused, a policy that shows all is accepted") {
  TestDatabase database;
  database.run(sound_table);
  const testing::LeastRole role(database, "public.bookings");
  database.run(
      "ALTER TABLE bookings ENABLE ROW LEVEL SECURITY;"
      "CREATE POLICY a_part ON bookings USING (status = 'booked')");
  CHECK(postgres::refusals(check(database.url(), target_of())).empty());  // superusers see all
  const auto refusal =
      find(check(role.url(), target_of()), Severity::refusal, "row-level security hides rows");
  REQUIRE(refusal);
  database.run(first_line(refusal->mend));
  CHECK(postgres::refusals(check(role.url(), target_of())).empty());
  database.run("CREATE POLICY fewer ON bookings AS RESTRICTIVE USING (status IS NOT NULL)");
  CHECK(find(check(role.url(), target_of()), Severity::refusal, "row-level security"));
}

TEST_CASE("the owner of a table that forces row-level security on itself is refused") {
  TestDatabase database;
  database.run(sound_table);
  const testing::LeastRole role(database, "");
  database.run("ALTER TABLE bookings OWNER TO " + role.name());
  database.run("ALTER TABLE bookings ENABLE ROW LEVEL SECURITY");
  CHECK_FALSE(find(check(role.url(), target_of()), Severity::refusal, "row-level security"));
  database.run("ALTER TABLE bookings FORCE ROW LEVEL SECURITY");
  CHECK(find(check(role.url(), target_of()), Severity::refusal, "row-level security"));
}

TEST_CASE("a sequence we may not look at is not trusted when the table ends before the cursor") {
  TestDatabase database;
  database.run(sound_table);
  database.run(
      "INSERT INTO bookings (status) SELECT 'booked' FROM generate_series(1, 10);"
      "DELETE FROM bookings WHERE id > 5;"
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, position_id)"
      "VALUES ('p', 0, 1, clock_timestamp(), '10')");
  const testing::LeastRole role(database, "public.bookings");
  auto target = target_of();
  by_id(target);
  const auto refusal = find(check(role.url(), target), Severity::refusal, "may not look at");
  REQUIRE(refusal);
  database.run(refusal->mend);  // the sequence stands at 10: rows were deleted, nothing is wrong
  CHECK(postgres::refusals(check(role.url(), target)).empty());
}

// --- warnings -----------------------------------------------------------------------------------

TEST_CASE("a missing index is warned of with the statement that makes it") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    TestDatabase database;
    database.run(sound_table);
    database.run(
        "DROP INDEX bookings_created_at_id_idx;"
        "CREATE INDEX sparse ON bookings USING brin (created_at);"
        "CREATE INDEX half ON bookings (created_at, id DESC)");
    if (order == OrderBy::id) {
      database.run(
          "ALTER TABLE bookings DROP CONSTRAINT bookings_pkey;"
          "CREATE INDEX dense ON bookings USING brin (id)");
    }
    auto target = target_of();
    target.source.order_by = order;
    const auto warning = find(check(database.url(), target), Severity::warning, "no btree index");
    REQUIRE(warning);
    CHECK(warning->what.find("cannot serve") != std::string::npos);
    CHECK(warning->mend.find("CREATE INDEX CONCURRENTLY ON public.bookings (") == 0);
    database.run(warning->mend);
    CHECK_FALSE(find(check(database.url(), target), Severity::warning, "no btree index"));
  }
}

TEST_CASE("producers without an idle-in-transaction timeout are warned of") {
  TestDatabase database;
  database.run(sound_table);
  const std::string what = "idle_in_transaction_session_timeout is 0";
  const auto warning = find(check(database.url(), target_of()), Severity::warning, what);
  REQUIRE(warning);
  database.run(warning->mend);
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
  database.run(first_line(warning->mend));
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

TEST_CASE("names with capitals, dots and quotes are quoted in every statement") {
  TestDatabase database;
  database.run(R"(CREATE SCHEMA "My ""App""";
      CREATE TABLE "My ""App"""."Book.ings; drop table" (
          "Id" bigint GENERATED ALWAYS AS IDENTITY, "At" timestamptz NOT NULL DEFAULT now());)");
  auto target = target_of(R"("My ""App"""."Book.ings; drop table")");
  target.source.id = "Id";
  target.source.created_at = "\"At\"";
  for (const auto& finding : of(Severity::refusal, check(database.url(), target))) {
    REQUIRE_NOTHROW(database.run(first_line(finding.mend)));
  }
  const auto after = check(database.url(), target);
  INFO(text_of(after));
  CHECK(postgres::refusals(after).empty());
  const auto warning = find(after, Severity::warning, "no btree index");
  REQUIRE(warning);
  REQUIRE_NOTHROW(database.run(warning->mend));
}

// --- servers
// --------------------------------------------------------------------------------------

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
  const auto folder = testing::shared_server().log_file().parent_path().parent_path() / "standby";
  {
    postgres::EmbeddedServer server({folder, {}, {}});
    server.stop(postgres::EmbeddedServer::Stop::fast);
    std::ofstream(folder / "data" / "standby.signal").close();
    fs::permissions(folder / "data" / "standby.signal", fs::perms::all);
    server.start();
    const auto findings = check(server.url(), target_of());
    CHECK(find(findings, Severity::refusal, "the server is a standby"));
  }
  fs::remove_all(folder);
}

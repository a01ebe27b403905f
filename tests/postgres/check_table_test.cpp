// What `check` says about the table, its columns and its cursors.
#include <doctest/doctest.h>

#include <functional>

#include "postgres/check_fixture.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::check;

namespace {

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

using Configure = std::function<void(Target&)>;

/// A way a set-up is unsound. Where `fix` is empty the finding's own statement is executed.
struct Unsound {
  std::string spoil;  ///< SQL done to a sound table
  std::string what;   ///< part of what the refusal says
  Configure configure = {};
  Configure fix = {};
};

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
  CHECK_FALSE(refusal->remedy.empty());
  CHECK(postgres::refusals(before).find(refusal->what) != std::string::npos);

  if (unsound.fix) {
    unsound.fix(target);
  } else {
    CAPTURE(refusal->remedy);
    REQUIRE_NOTHROW(database.run(first_statement(refusal->remedy)));
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

TEST_CASE("in created_at order any other default than clock_timestamp() is refused and fixed") {
  const std::string set = "ALTER TABLE bookings ALTER COLUMN created_at SET DEFAULT ";
  const auto deliver = [](Target& target) { target.source.late_rows = OnLateRow::deliver; };
  for (const auto& [expression, what] :
       {std::pair{"now()", "defaults to now(), the transaction's start"},
        std::pair{"CURRENT_TIMESTAMP", "defaults to CURRENT_TIMESTAMP, the transaction's start"},
        std::pair{"transaction_timestamp()", "the transaction's start"},
        std::pair{"statement_timestamp()", "the statement's start"},
        std::pair{"clock_timestamp() - interval '1 s'", "not to the moment of insertion"},
        std::pair{"'2024-01-01'", "not to the moment of insertion"}}) {
    verify({set + expression, what, {}, by_id});
    verify({set + expression, what, {}, deliver});
    verify({set + expression, what});
  }
  verify({"ALTER TABLE bookings ALTER COLUMN created_at DROP DEFAULT", "has no default"});
}

TEST_CASE("a refused default names its column and every way to fix it, the easiest first") {
  TestDatabase database;
  database.run(sound_table);
  database.run("ALTER TABLE bookings ALTER COLUMN created_at SET DEFAULT now()");
  const auto text = postgres::refusals(check(database.url(), target_of()));
  CHECK(text.find("public.bookings.created_at") != std::string::npos);
  CHECK(text.find("ALTER TABLE public.bookings ALTER COLUMN created_at SET DEFAULT "
                  "clock_timestamp()") != std::string::npos);
  CHECK(text.find("order_by = \"id\"") != std::string::npos);
  CHECK(text.find("late_rows = \"deliver\"") < text.find("ALTER TABLE"));  // it needs no change
}

TEST_CASE("rows of one created_at whose ids do not follow their writing are warned of") {
  TestDatabase database;
  database.run(
      "CREATE TABLE bookings (id uuid PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT "
      "clock_timestamp(), payload json); CREATE INDEX ON bookings (created_at, id)");
  const auto write = [&](const std::string& ids) {
    database.run("INSERT INTO bookings SELECT lpad(id, 32, '0')::uuid, now(), '{}' FROM unnest('" +
                 ids + "'::text[]) AS id");
  };
  auto target = target_of();
  const auto warned = [&] {
    return find(check(database.url(), target), Severity::warning, "order of their ids");
  };
  write("{1,2,3}");
  CHECK_FALSE(warned());
  write("{12,11,13}");
  REQUIRE(warned());
  CHECK(warned()->what.find("1 group of them") != std::string::npos);
  CHECK(warned()->remedy.find("late_rows = \"deliver\"") == 0);
  target.source.late_rows = OnLateRow::deliver;
  CHECK_FALSE(warned());
}

TEST_CASE("a column that cannot order rows is refused and fixed") {
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

TEST_CASE("an id that two rows may share is refused and fixed") {
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

TEST_CASE("in id order a sequence that does not count one by one is refused and fixed") {
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

TEST_CASE("partitions are checked one by one") {
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

TEST_CASE("a delivered_at_column that cannot be stamped is refused and fixed") {
  const auto stamped = [](Target& target) { target.source.delivered_at_column = "dispatched_at"; };
  verify({"", "has no column dispatched_at to stamp", stamped});
  verify({"ALTER TABLE bookings ADD dispatched_at text", "of type text", stamped,
          [](Target& target) { target.source.delivered_at_column = ""; }});
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

TEST_CASE(
    "for many lanes an index of the lane is asked for, with a statement that the lanes' poll "
    "uses") {
  TestDatabase database;
  database.run(sound_table);
  auto target = target_of();
  target.source.key = "customer_id";
  SUBCASE("a column") {}
  SUBCASE("an expression") {
    target.source.key = "lower(t.customer_id)";
  }
  target.process.lanes = 31;
  CHECK_FALSE(find(check(database.url(), target), Severity::warning, "knows the lane"));
  target.process.lanes = 64;
  const auto warning = find(check(database.url(), target), Severity::warning, "knows the lane");
  REQUIRE(warning);
  database.run(warning->remedy);
  CHECK_FALSE(find(check(database.url(), target), Severity::warning, "knows the lane"));
  CHECK(find(check(database.url(), target), Severity::ok, "knows the lane"));
  target.process.lanes = 32;  // it is of so many lanes and of no others
  CHECK(find(check(database.url(), target), Severity::warning, "knows the lane"));
}

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
    CHECK(warning->remedy.find("CREATE INDEX CONCURRENTLY ON public.bookings (") == 0);
    database.run(warning->remedy);
    CHECK_FALSE(find(check(database.url(), target), Severity::warning, "no btree index"));
  }
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
    REQUIRE_NOTHROW(database.run(first_statement(finding.remedy)));
  }
  const auto after = check(database.url(), target);
  INFO(text_of(after));
  CHECK(postgres::refusals(after).empty());
  const auto warning = find(after, Severity::warning, "no btree index");
  REQUIRE(warning);
  REQUIRE_NOTHROW(database.run(warning->remedy));
}

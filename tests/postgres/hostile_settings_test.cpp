// FAULTS 45: settings of the role or the database that would change what a relay does or reads.
// Each is tried against init, check, run and status, which must act as they do without it, or
// refuse it.
#include <doctest/doctest.h>

#include "postgres/admin/check/check.hpp"
#include "postgres/admin/migrate.hpp"
#include "postgres/desk.hpp"
#include "postgres/wire/connection.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t rows = 5;

/// Rows that read differently under other settings.
const std::string sensitive_table = R"sql(
    CREATE TABLE sensitive (
        id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        number     double precision DEFAULT 1/3::float8,
        pause      interval DEFAULT '26 hours',
        day        timestamptz DEFAULT '2026-02-03 04:05:06+00',
        bytes      bytea DEFAULT '\xdeadbeef',
        note       text DEFAULT E'back\\slash',
        form       xml DEFAULT xmlelement(name form, '\xdeadbeef'::bytea)
    );
    CREATE INDEX ON sensitive (created_at, id);
    INSERT INTO sensitive (note) SELECT E'back\\slash' FROM generate_series(1, 5);)sql";

/// Objects that answer wrongly in the place of those of pg_catalog that our statements name.
const std::string hostile_schema = R"sql(
    CREATE SCHEMA evil;
    GRANT USAGE ON SCHEMA evil TO PUBLIC;
    CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '2001-01-01' $$;
    CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT timestamptz '2001-01-01' $$;
    CREATE FUNCTION evil.pg_backend_pid() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
    CREATE FUNCTION evil.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT $1 $$;
    CREATE FUNCTION evil.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT ''::text $$;
    CREATE FUNCTION evil.pg_notify(text, text) RETURNS void LANGUAGE sql AS $$ SELECT $$;
    CREATE FUNCTION evil.hashtextextended(text, bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT 1::bigint $$;
    CREATE FUNCTION evil.to_regclass(text) RETURNS regclass LANGUAGE sql AS $$ SELECT NULL::regclass $$;
    CREATE FUNCTION evil.to_jsonb(anyelement) RETURNS jsonb LANGUAGE sql AS $$ SELECT '"evil"'::jsonb $$;
    CREATE FUNCTION evil.row_security_active(oid) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$;
    CREATE FUNCTION evil.has_table_privilege(oid, text) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$;
    CREATE FUNCTION evil.pg_get_expr(pg_node_tree, oid) RETURNS text LANGUAGE sql AS $$ SELECT 'now()'::text $$;
    CREATE FUNCTION evil.format_type(oid, integer) RETURNS text LANGUAGE sql AS $$ SELECT 'money'::text $$;
    CREATE FUNCTION evil.octet_length(text) RETURNS integer LANGUAGE sql AS $$ SELECT 0 $$;
    CREATE FUNCTION evil.cardinality(anyarray) RETURNS integer LANGUAGE sql AS $$ SELECT 99 $$;
    CREATE AGGREGATE evil.count(*) (SFUNC = int8inc, STYPE = bigint, INITCOND = '40');
    CREATE AGGREGATE evil.max(bigint) (SFUNC = int8larger, STYPE = bigint, INITCOND = '4000');
    DO $do$
    DECLARE
        type_name text;
        operator  text;
    BEGIN
        FOREACH type_name IN ARRAY ARRAY['text', 'name', 'bigint', 'integer', 'oid', 'timestamptz', 'boolean'] LOOP
            EXECUTE format('CREATE FUNCTION evil.never(%s, %1$s) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$',
                           type_name);
            FOREACH operator IN ARRAY ARRAY['=', '<>', '<', '<=', '>', '>='] LOOP
                EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.never, LEFTARG = %s, RIGHTARG = %2$s)',
                               operator, type_name);
            END LOOP;
        END LOOP;
        FOREACH type_name IN ARRAY ARRAY['pg_class', 'pg_namespace', 'pg_settings', 'pg_locks',
                                         'pg_stat_activity', 'pg_inherits', 'pg_index', 'pg_roles'] LOOP
            EXECUTE format('CREATE VIEW evil.%I AS SELECT * FROM pg_catalog.%1$I WHERE false', type_name);
            EXECUTE format('GRANT SELECT ON evil.%I TO PUBLIC', type_name);
        END LOOP;
        CREATE TABLE evil.cursor (process_name text);
        FOREACH type_name IN ARRAY ARRAY['text', 'oid', 'regclass', 'timestamptz', 'jsonb', 'bytea'] LOOP
            EXECUTE format('CREATE DOMAIN evil.%I AS pg_catalog.bool', type_name);
        END LOOP;
    END $do$;)sql";

struct Setting {
  std::string name;
  std::string value;         ///< as SET takes it
  std::string refused = {};  ///< in these words; empty: it changes nothing
};

const std::vector<Setting> settings{
    {"search_path", "evil, pg_catalog, public"},
    {"search_path", "evil"},
    {"search_path", "''"},
    {"search_path", "\"$user\", \"no such schema\", \"it's; \"\"here\"\"\""},
    {"quote_all_identifiers", "on"},
    {"standard_conforming_strings", "off"},
    {"backslash_quote", "on"},
    {"array_nulls", "off"},
    {"default_transaction_isolation", "'serializable'"},
    {"default_transaction_isolation", "'repeatable read'"},
    {"default_transaction_read_only", "on"},
    {"default_transaction_deferrable", "on"},
    {"statement_timeout", "'1ms'"},
    {"lock_timeout", "'1ms'"},
    {"idle_in_transaction_session_timeout", "'1ms'"},
    {"idle_session_timeout", "'100ms'"},
    {"transaction_timeout",
     "'400ms'"},  // PostgreSQL 17; our first message took 100 ms on a busy machine
    {"exit_on_error", "on"},
    {"synchronous_commit", "off"},
    {"bytea_output", "'escape'"},
    {"DateStyle", "'German, DMY'"},
    {"IntervalStyle", "'iso_8601'"},
    {"TimeZone", "'Asia/Kathmandu'"},
    {"extra_float_digits", "-10"},
    {"xmlbinary", "'hex'"},
    {"xmloption", "'document'"},
    {"client_encoding", "'LATIN1'"},
    {"row_security", "off"},
    {"gin_fuzzy_search_limit", "1"},
    {"restrict_nonsystem_relation_kind", "'view'"},  // minor releases since August 2024
    {"plan_cache_mode", "'force_custom_plan'"},
    {"enable_indexscan", "off"},
    {"enable_bitmapscan", "off"},
    {"jit_above_cost", "0"},
    {"session_replication_role", "'replica'", "session_replication_role is not origin"}};

/// A table, a role of its own that owns schema seriatim, and what the four do for it.
class HostileStage {
 public:
  HostileStage() {
    database_.run(sensitive_table + "CREATE ROLE " + role_ + " LOGIN; GRANT CREATE ON DATABASE " +
                  database_.name() + " TO " + role_ + "; GRANT SELECT ON sensitive TO " + role_ +
                  "; ALTER TABLE sensitive ENABLE ROW "
                  "LEVEL SECURITY; CREATE POLICY p ON sensitive USING (true)");
    database_.run(hostile_schema);
    target_.process.name = "p";
    target_.process.standby_interval = 20ms;
    target_.source.table = "public.sensitive";
    target_.source.key = "t.note";
    target_.source.where = "t.note <> 'no' AND t.id > 0";
  }
  ~HostileStage() { database_.run("DROP OWNED BY " + role_ + " CASCADE; DROP ROLE " + role_); }

  [[nodiscard]] bool knows(const std::string& setting) {
    return database_.value("SELECT count(*) FROM pg_settings WHERE name = '" + setting + "'") ==
           "1";
  }
  void set(const Setting& setting) {
    database_.run("ALTER ROLE " + role_ + " SET " + setting.name + " = " + setting.value);
  }
  void reset() { database_.run("ALTER ROLE " + role_ + " RESET ALL"); }

  /// init, check, run and status from the start; all that a person or a receiver is shown.
  std::string story() {
    database_.run("DROP SCHEMA IF EXISTS seriatim CASCADE");
    std::string text = std::to_string(postgres::migrate(url()).size()) + " migrations\n";
    text += postgres::refusals(postgres::check(url(), target_)) + '\n';
    DeliveryLog log;
    InProcessRelay relay(postgres_source(url(), target_.source), target_.process,
                         handler_from([&log](const Record& record) {
                           log.add(record);
                           return Outcome::done();
                         }));
    log.wait_for_rows(rows);
    relay.stop();
    for (const auto& record : log.records()) {
      text += record.id() + ' ' + std::to_string(record.position.created_at_us) + ' ' +
              std::to_string(record.sequence) + ' ' + record.key.value_or("NULL") + ' ' +
              record.payload.value_or("NULL") + '\n';
    }
    for (const auto& report : Admin(url()).status(target_)) {
      text += std::string(to_string(report.lane.state)) + ' ' + report.lane.detail + ' ' +
              std::to_string(report.lane.sequence) + ' ' +
              std::to_string(report.lag_records.value()) + '\n';
    }
    return text;
  }

  [[nodiscard]] std::string url() const {
    const auto& url = database_.url();
    return url.substr(0, url.find("//") + 2) + role_ + url.substr(url.find('@'));
  }
  Target& target() { return target_; }
  TestDatabase& database() { return database_; }

 private:
  TestDatabase database_;
  std::string role_ = "hostile_" + database_.name();
  Target target_;
};

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("settings of the role change nothing of what init, check, run and status do") {
  HostileStage stage;
  const auto plain = stage.story();
  CAPTURE(plain);
  REQUIRE(contains(plain, "\n5 "));
  REQUIRE(contains(plain, "0.3333333333333333"));
  for (const auto& setting : settings) {
    if (!stage.knows(setting.name)) continue;
    CAPTURE(setting.name);
    CAPTURE(setting.value);
    stage.set(setting);
    if (setting.refused.empty()) {
      std::string text;
      CHECK(refusal_of([&] { text = stage.story(); }) == "");
      CHECK(text == plain);
    } else {
      CHECK(contains(refusal_of([&] { postgres::migrate(stage.url()); }), setting.refused));
      CHECK(contains(refusal_of([&] { (void)postgres::check(stage.url(), stage.target()); }),
                     setting.refused));
      CHECK(contains(refusal_of([&] { Admin(stage.url()).status(stage.target()); }),
                     setting.refused));
      TestLane lane(stage.database(), stage.target().source);
      lane.source = postgres_source(stage.url(), stage.target().source);
      CHECK(contains(refusal_of([&] { lane.open(); }), setting.refused));
    }
    stage.reset();
  }
}

TEST_CASE("all of them at once change nothing either") {
  HostileStage stage;
  const auto plain = stage.story();
  for (const auto& setting : settings) {
    // With exit_on_error a timeout of 1 ms may end the session before either is switched off.
    const bool may_end_it = setting.name == "exit_on_error";
    if (setting.refused.empty() && !may_end_it && stage.knows(setting.name)) stage.set(setting);
  }
  stage.set({"search_path", "evil, pg_catalog, public"});
  CHECK(stage.story() == plain);
}

TEST_CASE("expressions find the functions of the role's own schemas, after those of PostgreSQL") {
  HostileStage stage;
  stage.database().run(
      "CREATE SCHEMA ours; GRANT USAGE ON SCHEMA ours TO PUBLIC;"
      "CREATE FUNCTION ours.label(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'label ' || $1 $$;"
      "CREATE FUNCTION ours.upper(text) RETURNS text LANGUAGE sql AS $$ SELECT 'not this one' $$");
  stage.set({"search_path", "ours, pg_catalog"});
  stage.target().source.key = "upper(label(t.id))";
  CHECK(contains(stage.story(), " LABEL 5 "));
}

TEST_CASE("what a handler creates without a schema goes where the role's search_path says") {
  TestDatabase database;
  postgres::Connection connection(database.url(), {});
  connection.run("CREATE TABLE made (id integer)");
  CHECK(database.value("SELECT to_regclass('public.made') IS NOT NULL") == "t");
}

TEST_CASE("a producer's search_path changes nothing of what functions of schema seriatim do") {
  HostileStage stage;
  auto producer = stage.database().connect();
  stage.database().run(
      "CREATE TRIGGER hint AFTER INSERT ON seriatim.outbox FOR EACH STATEMENT EXECUTE FUNCTION "
      "seriatim.hint(); INSERT INTO seriatim.inbox (consumer, event_id) VALUES ('c', 'new')");
  postgres::Connection ears(stage.database().url(), {});
  ears.listen("seriatim");
  producer.run("SET search_path = evil, pg_catalog");
  CHECK(producer.value("SELECT seriatim.append('a', '1', 'made', '{\"n\":1}')") == "1");
  CHECK(producer.value("SELECT seriatim.inbox_once('c', 'new')") == "f");
  CHECK(producer.value("SELECT seriatim.inbox_prune('c', pg_catalog.interval '1 day')") == "0");
  CHECK(stage.database().value("SELECT payload FROM seriatim.outbox") == "{\"n\":1}");
  ears.run("SELECT 1");
  CHECK(ears.notifications().size() == 1);
}

TEST_CASE("the script for a DBA installs the same schema under a hostile search_path") {
  HostileStage stage;
  auto dba = stage.database().connect();
  stage.database().run("DROP SCHEMA seriatim CASCADE");
  dba.run("SET search_path = evil, pg_catalog");
  dba.run(postgres::schema_script());
  CHECK(stage.database().value("SELECT pg_typeof(detail)::text FROM (SELECT) AS one LEFT JOIN "
                               "seriatim.cursor AS c ON true") == "text");
  CHECK(postgres::migrate(stage.database().url()).empty());
  CHECK(stage.database().value("SELECT seriatim.append('a', '1', 'made', '{}')") == "1");
}

// Read models on a real server: exactly once in the cursor's transaction and in another database.
#include <doctest/doctest.h>

#include <chrono>

#include "seriatim/error.hpp"
#include "seriatim/postgres.hpp"
#include "seriatim/registry.hpp"
#include "sql/sql_handler.hpp"
#include "support/in_process_relay.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using handlers::NamedStatement;
using handlers::SqlHandler;
using handlers::SqlHandlerConfig;

namespace {

const std::string one_by_one =
    "INSERT INTO model VALUES (:id::bigint, (:payload::json ->> 'n')::int)";
const std::string in_batches =
    "INSERT INTO model SELECT r.id::bigint, (r.payload::json ->> 'n')::int FROM :records AS r";

SqlHandlerConfig config(const std::string& statement, const std::string& url = {}) {
  SqlHandlerConfig result;
  result.url = url;
  result.projection.statement.emplace(statement);
  return result;
}

/// An outbox and its read model, in one database or in two.
struct Stage {
  Stage() {
    source.table = "public.t";
    source.order_by = OrderBy::id;
    process.name = "p";
    process.commit_every = process.batch_rows;
    process.poll_interval_max = 20ms;
    process.backoff = {10ms, 50ms, 1s};
    outbox.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_type text,"
        " payload json, created_at timestamptz NOT NULL DEFAULT clock_timestamp())");
    for (auto* database : {&outbox, &elsewhere}) {
      database->run("CREATE TABLE model (id bigint PRIMARY KEY, n int CHECK (n <> 37))");
    }
  }
  void append(int rows, const std::string& payload = "json_build_object('n', g)") {
    outbox.run("INSERT INTO t (payload) SELECT " + payload + " FROM generate_series(1, " +
               std::to_string(rows) + ") g");
  }
  [[nodiscard]] std::unique_ptr<InProcessRelay> start(const SqlHandlerConfig& handler) const {
    return std::make_unique<InProcessRelay>(
        postgres_source(outbox.url(), source), process,
        [handler](unsigned) { return std::make_unique<SqlHandler>(handler); });
  }
  /// Not before the whole of it was committed.
  bool reaches(int sequence) {
    return outbox.becomes_true("SELECT sequence = " + std::to_string(sequence) +
                               " FROM seriatim.cursor");
  }
  bool halts() { return outbox.becomes_true("SELECT state = 'halted' FROM seriatim.cursor"); }

  TestDatabase outbox;
  TestDatabase elsewhere;
  SourceConfig source;
  ProcessConfig process;
};

std::string model(TestDatabase& database) {
  return database.value("SELECT concat(count(*), ' to ', max(id), ', n ', sum(n)) FROM model");
}

}  // namespace

TEST_CASE("the rendering of a row is its statement and parameters") {
  Record record;
  record.position = {1'700'000'000'123'456, "4711"};
  record.payload = "{\"n\":1}";
  record.sequence = 42;
  const auto alone = SqlHandler(config(one_by_one)).render(record).value();
  CHECK(alone.envelope ==
        std::vector<Header>{
            {"statement", "INSERT INTO model VALUES ($1::bigint, ($2::json ->> 'n')::int)"}});
  CHECK(alone.headers == std::vector<Header>{{"$1", "4711"}, {"$2", "{\"n\":1}"}});
  const auto batch = SqlHandler(config(in_batches)).render(record).value();
  CHECK(batch.headers.size() == 8);
  CHECK(batch.headers[0] == Header{"$1", "42"});
  CHECK(batch.headers[2] == Header{"$3", "NULL"});  // no key

  SqlHandlerConfig other;
  other.projection.on.emplace("booked", one_by_one);
  CHECK_THROWS_WITH((void)SqlHandler(other).render(record),
                    doctest::Contains("no statement for event type"));
}

TEST_CASE("a read model is written row by row or in batches, in one transaction with the cursor") {
  for (const auto& statement : {one_by_one, in_batches}) {
    CAPTURE(statement);
    Stage stage;
    stage.append(30);
    const auto relay = stage.start(config(statement));
    REQUIRE(stage.reaches(30));
    CHECK(model(stage.outbox) == "30 to 30, n 465");
    CHECK(stage.outbox.value("SELECT count(DISTINCT m.xmin::text) FROM model m") == "1");
    CHECK(stage.outbox.value("SELECT m.xmin = c.xmin FROM model m, seriatim.cursor c LIMIT 1") ==
          "t");
  }
}

TEST_CASE(
    "a batch whose 37th row is refused leaves 36, halts there, and goes on when it is fixed") {
  for (const auto& statement : {one_by_one, in_batches}) {
    for (const bool elsewhere : {false, true}) {
      CAPTURE(statement);
      CAPTURE(elsewhere);
      Stage stage;
      auto& target = elsewhere ? stage.elsewhere : stage.outbox;
      stage.append(100);
      const auto relay = stage.start(config(statement, elsewhere ? target.url() : ""));
      REQUIRE(stage.halts());
      CHECK(stage.outbox.value("SELECT concat_ws(' ', sequence, reason, failed_id) FROM "
                               "seriatim.cursor") == "36 POISON 37");
      CHECK(stage.outbox.value("SELECT detail FROM seriatim.cursor").find("model_n_check") !=
            std::string::npos);
      CHECK(model(target) == "36 to 36, n 666");
      stage.outbox.run(
          "UPDATE t SET payload = '{\"n\": 0}' WHERE id = 37;"
          "UPDATE seriatim.cursor SET state = 'running';"
          "NOTIFY seriatim_control, 'p'");
      REQUIRE(stage.reaches(100));
      CHECK(model(target) == "100 to 100, n 5013");
    }
  }
}

TEST_CASE("rows that are refused only together go one by one") {
  Stage stage;
  stage.append(10, "json_build_object('n', 1)");
  const auto relay =
      stage.start(config("INSERT INTO model SELECT 1, 1 FROM :records AS r"
                         " ON CONFLICT (id) DO UPDATE SET n = model.n + 1"));
  REQUIRE(stage.reaches(10));
  CHECK(model(stage.outbox) == "1 to 1, n 10");
}

TEST_CASE("a constraint checked at commit names its row too") {
  Stage stage;
  stage.outbox.run("ALTER TABLE model ADD UNIQUE (n) DEFERRABLE INITIALLY DEFERRED");
  stage.append(10, "json_build_object('n', least(g, 8))");
  const auto relay = stage.start(config(one_by_one));
  REQUIRE(stage.halts());
  CHECK(stage.outbox.value("SELECT failed_id FROM seriatim.cursor") == "9");
  CHECK(model(stage.outbox) == "8 to 8, n 36");
}

TEST_CASE("a lock held by others, or a slow statement, is tried again") {
  Stage stage;
  stage.process.handler_deadline = 300ms;
  stage.append(3);
  auto other = stage.outbox.connect();
  other.run("BEGIN; LOCK TABLE model");
  const auto relay = stage.start(config(one_by_one));
  CHECK(stage.outbox.becomes_true(
      "SELECT state = 'retrying' AND detail LIKE '%57014%' FROM seriatim.cursor"));
  other.run("ROLLBACK");
  REQUIRE(stage.reaches(3));
  CHECK(model(stage.outbox) == "3 to 3, n 6");
}

TEST_CASE("the session dies in the middle: nothing of the row remains, and it is written once") {
  for (const bool elsewhere : {false, true}) {
    CAPTURE(elsewhere);
    Stage stage;
    auto& target = elsewhere ? stage.elsewhere : stage.outbox;
    target.run(
        "CREATE SEQUENCE tries; CREATE FUNCTION dies_once(int) RETURNS int LANGUAGE plpgsql AS"
        " $$ BEGIN IF $1 = 5 AND nextval('tries') = 1 THEN"
        " PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(30); END IF;"
        " RETURN $1; END $$");
    stage.append(10);
    const auto relay =
        stage.start(config("INSERT INTO model SELECT :id::bigint,"
                           " dies_once((:payload::json ->> 'n')::int)",
                           elsewhere ? target.url() : ""));
    REQUIRE(stage.reaches(10));
    CHECK(target.value("SELECT last_value FROM tries") == "2");
    CHECK(model(target) == "10 to 10, n 55");
  }
}

TEST_CASE("each event type has its statement, and one without halts") {
  Stage stage;
  SqlHandlerConfig handler;
  handler.projection.on.emplace("opened", NamedStatement("INSERT INTO model VALUES (:id::bigint)"));
  handler.projection.on.emplace(
      "closed", NamedStatement("DELETE FROM model WHERE id = (:payload::json ->> 'n')::bigint"));
  stage.outbox.run(
      "INSERT INTO t (event_type, payload) VALUES ('opened', '{}'),"
      " ('opened', '{}'), ('closed', '{\"n\": 1}'), ('moved', '{}')");
  const auto relay = stage.start(handler);
  REQUIRE(stage.halts());
  CHECK(stage.outbox.value("SELECT failed_id || detail FROM seriatim.cursor")
            .find("4no statement for event type \"moved\"") == 0);
  CHECK(model(stage.outbox) == "1 to 2, n ");
}

TEST_CASE("an ignored event type is passed over, one that is not listed halts") {  // FAULTS 49
  Stage stage;
  stage.process.event_types = {"opened"};
  stage.source.ignore = {"seen", "it's \"read\""};
  stage.outbox.run(
      "INSERT INTO t (event_type) VALUES ('opened'), ('seen'), ('it''s \"read\"'),"
      " ('opened'), ('moved'), ('opened')");
  const auto relay = stage.start(config("INSERT INTO model VALUES (:id::bigint, :sequence::int)"));
  REQUIRE(stage.halts());
  CHECK(stage.outbox.value("SELECT failed_id || detail FROM seriatim.cursor")
            .find("5event type \"moved\" is not of event_types") == 0);
  CHECK(model(stage.outbox) == "2 to 4, n 3");
}

TEST_CASE("rewound to the start, a model with a reset is built anew") {
  for (const bool elsewhere : {false, true}) {
    CAPTURE(elsewhere);
    Stage stage;
    auto& target = elsewhere ? stage.elsewhere : stage.outbox;
    auto handler = config(in_batches, elsewhere ? target.url() : "");
    handler.projection.reset = "DELETE FROM model";
    stage.append(20);
    {
      const auto relay = stage.start(handler);
      REQUIRE(stage.reaches(20));
    }
    target.run("INSERT INTO model VALUES (-1, 1000)");
    stage.outbox.run(
        "DELETE FROM seriatim.ledger;"
        "UPDATE seriatim.cursor SET position_at = NULL, position_id = NULL,"
        " sequence = 0, epoch = epoch + 1, bucket_ids = '{}', bucket_ranges = '{}',"
        " bucket_id = NULL, bucket_at = NULL");
    const auto relay = stage.start(handler);
    REQUIRE(stage.reaches(20));
    CHECK(model(target) == "20 to 20, n 210");
  }
}

TEST_CASE("what the other database has already counts as done") {
  Stage stage;
  stage.append(10);
  const auto handler = config(one_by_one, stage.elsewhere.url());
  {
    const auto relay = stage.start(handler);
    REQUIRE(stage.reaches(10));
  }
  // As after a crash between its commit and ours.
  stage.outbox.run(
      "UPDATE seriatim.cursor SET position_id = '4', sequence = 4, bucket_ids ="
      " bucket_ids[1:4], bucket_ranges = bucket_ranges * '{[1,5)}', position_at = (SELECT "
      "created_at FROM t WHERE id = 4)");
  stage.append(2);
  const auto relay = stage.start(handler);
  REQUIRE(stage.reaches(12));
  CHECK(model(stage.elsewhere) == "12 to 12, n 58");
  CHECK(stage.elsewhere.value("SELECT concat_ws(' ', process_name, lane, sequence, id) FROM "
                              "seriatim_position") == "p 0 12 12");
}

TEST_CASE("another database that was set back halts with what to do, and goes on after it") {
  Stage stage;
  stage.append(10);
  const auto handler = config(one_by_one, stage.elsewhere.url());
  {
    const auto relay = stage.start(handler);
    REQUIRE(stage.reaches(10));
  }
  stage.elsewhere.run(
      "DELETE FROM model WHERE id > 8;"
      "UPDATE seriatim_position SET sequence = 8, id = '8'");
  stage.append(1);
  const auto relay = stage.start(handler);
  REQUIRE(stage.halts());
  CHECK(stage.outbox.value("SELECT detail FROM seriatim.cursor")
            .find("rows up to number 8 of this lane, and this is number 11") != std::string::npos);
  CHECK(model(stage.elsewhere) == "8 to 8, n 36");
}

TEST_CASE("another database refuses a holder that was replaced") {
  Stage stage;
  stage.append(3);
  const auto handler = config(one_by_one, stage.elsewhere.url());
  {
    const auto relay = stage.start(handler);
    REQUIRE(stage.reaches(3));
  }
  stage.elsewhere.run("UPDATE seriatim_position SET epoch = 99");
  stage.append(1);
  const auto relay = stage.start(handler);
  CHECK(stage.outbox.becomes_true(
      "SELECT state = 'retrying' AND detail LIKE '%epoch 99%' FROM seriatim.cursor"));
  CHECK(model(stage.elsewhere) == "3 to 3, n 6");
}

TEST_CASE("what is wrong with the configuration is reported together") {
  Options::Table table;
  table.where = "seriatim.toml:9";
  table.path = "process.handler";
  table.values["statement"] = {std::string("SELECT :amount"), "seriatim.toml:10"};
  table.values["reset"] = {std::string("DELETE FROM m WHERE id = :id"), "seriatim.toml:11"};
  Problems problems;
  Options options(std::make_shared<Options::Table>(table), problems);
  (void)handlers::read_sql_config(options);
  CHECK(problems.text().find("no record has :amount") != std::string::npos);
  CHECK(problems.text().find("it takes no names") != std::string::npos);
}

// FAULTS.md 8, 13, 15: the table changes its parts and loses rows under a lane, and is crowded.
#include <doctest/doctest.h>

#include <algorithm>

#include "seriatim/postgres.hpp"
#include "support/in_process_relay.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using testing::DeliveryLog;
using testing::InProcessRelay;
using testing::SqlSession;
using testing::TestDatabase;

namespace {

using Ids = std::vector<std::string>;

/// What the relay of one order was handed.
struct Delivery {
  Delivery(const TestDatabase& database, OrderBy order,
           const std::function<Outcome(const Record&)>& answer = nullptr)
      : relay(postgres_source(database.url(), source(order)), config(order),
              handler_from([this, answer](const Record& record) {
                auto outcome = answer ? answer(record) : Outcome::done();
                if (outcome.kind == Outcome::Kind::done) log.add(record);
                return outcome;
              })) {}

  static SourceConfig source(OrderBy order) {
    SourceConfig config;
    config.table = "t";
    config.order_by = order;
    return config;
  }
  static ProcessConfig config(OrderBy order) {
    ProcessConfig config;
    config.name = order == OrderBy::id ? "by_id" : "by_created_at";
    config.backoff.first = config.backoff.max = 20ms;
    config.poll_interval_max = 20ms;
    return config;
  }
  [[nodiscard]] Ids ids() const {
    Ids all;
    for (const auto& record : log.records()) all.push_back(record.id());
    return all;
  }
  [[nodiscard]] bool fenced() {
    return relay.status->wait_for(
        [](const LaneStatus& lane) { return lane.state == LaneState::fenced; });
  }

  DeliveryLog log;
  InProcessRelay relay;
};

Ids one_to(int last) {
  Ids ids;
  for (int id = 1; id <= last; ++id) ids.push_back(std::to_string(id));
  return ids;
}

/// Ids of t in the order declared, as the table itself sorts them.
Ids declared(TestDatabase& database, const std::string& order) {
  Ids ids;
  for (const auto& row : database.run("SELECT id FROM t ORDER BY " + order)) {
    ids.push_back(row[0].value());
  }
  return ids;
}

void create_partitioned(TestDatabase& database, int partitions) {
  database.run(
      "CREATE SEQUENCE ids; CREATE TABLE t (id bigint NOT NULL DEFAULT nextval('ids'), part int,"
      " created_at timestamptz NOT NULL DEFAULT clock_timestamp(), payload text,"
      " PRIMARY KEY (id, part)) PARTITION BY LIST (part); CREATE INDEX ON t (created_at, id)");
  for (int part = 0; part < partitions; ++part) {
    const auto number = std::to_string(part);
    database.run("CREATE TABLE t_" + number + " PARTITION OF t FOR VALUES IN (" + number + ")");
  }
}

}  // namespace

#define EACH_ORDER                     \
  OrderBy order = OrderBy::created_at; \
  SUBCASE("created_at order") {}       \
  SUBCASE("id order") {                \
    order = OrderBy::id;               \
  }

TEST_SUITE("a table that changes") {
  TEST_CASE("columns added, dropped and reordered, and another type of payload, change no byte") {
    EACH_ORDER
    TestDatabase database;
    database.run(
        "CREATE TABLE t (extra int, payload text, id bigint GENERATED ALWAYS AS IDENTITY PRIMARY "
        "KEY,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp()); CREATE INDEX ON t "
        "(created_at, id)");
    Delivery delivery(database, order);
    const auto deliver = [&](const std::string& change, const std::string& value,
                             std::size_t rows) {
      CAPTURE(change);
      database.run(change);
      database.run("INSERT INTO t (payload) VALUES (" + value + ")");
      REQUIRE(delivery.log.wait_for_rows(rows));
      CHECK(delivery.log.records().back().payload == "{\"n\": " + std::to_string(rows) + "}");
    };
    deliver("SELECT 1", "'{\"n\": 1}'", 1);
    deliver("ALTER TABLE t ADD COLUMN more text NOT NULL DEFAULT 'x'", "'{\"n\": 2}'", 2);
    deliver("ALTER TABLE t DROP COLUMN extra", "'{\"n\": 3}'", 3);
    deliver("ALTER TABLE t ALTER COLUMN payload TYPE json USING payload::json", "'{\"n\": 4}'", 4);
    deliver("ALTER TABLE t ALTER COLUMN payload TYPE bytea USING convert_to(payload::text, 'UTF8')",
            "convert_to('{\"n\": 5}', 'UTF8')", 5);
    deliver(
        "ALTER TABLE t RENAME COLUMN payload TO old; ALTER TABLE t ADD COLUMN payload bytea;"
        "UPDATE t SET payload = old; ALTER TABLE t DROP COLUMN old",
        "convert_to('{\"n\": 6}', 'UTF8')", 6);
    CHECK(delivery.ids() == one_to(6));
  }

  TEST_CASE("partitions come, are detached and dropped under a lane: every row once, in order") {
    EACH_ORDER
    TestDatabase database;
    create_partitioned(database, 2);
    Delivery delivery(database, order);
    database.run("INSERT INTO t (part) SELECT i % 2 FROM generate_series(1, 20) AS i");
    REQUIRE(delivery.log.wait_for_rows(20));

    auto writer = database.connect("into a leaf");
    writer.run("BEGIN; INSERT INTO t_1 (part) VALUES (1)");  // 21
    database.run("INSERT INTO t (part) VALUES (0), (0)");
    database.run(  // mid-round: rows wait; CREATE … PARTITION OF would wait for the writer
        "CREATE TABLE t_2 (LIKE t INCLUDING ALL); ALTER TABLE t ATTACH PARTITION t_2 FOR VALUES IN "
        "(2)");
    database.run("INSERT INTO t_2 (part) VALUES (2), (2); INSERT INTO t (part) VALUES (2)");
    REQUIRE(delivery.fenced());
    CHECK(delivery.log.size() == 20);
    writer.run("COMMIT");
    REQUIRE(delivery.log.wait_for_rows(26));

    database.run("ALTER TABLE t DETACH PARTITION t_0");
    database.run("INSERT INTO t (part) SELECT 1 + i % 2 FROM generate_series(1, 10) AS i");
    database.run("INSERT INTO t_0 (part) VALUES (0)");  // no longer ours: 37 never comes
    REQUIRE(delivery.log.wait_for_rows(36));
    database.run("DROP TABLE t_1");  // the oldest, all of it delivered
    database.run("INSERT INTO t (part) VALUES (2), (2)");
    REQUIRE(delivery.log.wait_for_rows(38));
    delivery.relay.stop();
    auto expected = one_to(36);
    expected.insert(expected.end(), {"38", "39"});
    CHECK(delivery.ids() == expected);
    CHECK(delivery.log.records().back().sequence == 38);
  }

  TEST_CASE("rows deleted before their turn are a hole: not waited for, not numbered, no halt") {
    EACH_ORDER
    TestDatabase database;
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id)");
    Delivery delivery(database, order, [](const Record& record) {
      return record.payload == "bad" ? Outcome::retry_later("503") : Outcome::done();
    });
    auto writer = database.connect("slow");
    writer.run("BEGIN; INSERT INTO t (payload) VALUES ('slow')");
    database.run("INSERT INTO t (payload) VALUES ('2'), ('3'), ('4'), ('bad'), ('6')");
    REQUIRE(delivery.fenced());
    database.run("DELETE FROM t WHERE id IN (3, 4)");
    writer.run("COMMIT");
    REQUIRE(delivery.relay.status->wait_for([](const LaneStatus& lane) {
      return lane.state == LaneState::retrying && lane.row_id == "5";
    }));
    database.run("DELETE FROM t WHERE id = 5");  // while it is retried
    REQUIRE(delivery.log.wait_for_rows(3));
    database.run("INSERT INTO t (payload) VALUES ('7'); DELETE FROM t WHERE id < 7");
    REQUIRE(delivery.log.wait_for_rows(4));
    delivery.relay.stop();
    CHECK(delivery.ids() == Ids{"1", "2", "6", "7"});
    CHECK(delivery.log.records().back().sequence == 4);
    CHECK(database.value("SELECT state FROM seriatim.cursor") == "running");
  }

  TEST_CASE("64 partitions and 500 connections that all write: every row once, in both orders") {
    constexpr int connections = 500;
    constexpr int partitions = 64;
    TestDatabase database;
    create_partitioned(database, partitions);
    Delivery by_created_at(database, OrderBy::created_at);
    Delivery by_id(database, OrderBy::id);
    // More locks than a backend has fast-path slots for; through the parent; into one leaf.
    const auto statement = [](int i) -> std::string {
      const auto part = std::to_string(i % partitions);
      if (i % 50 == 0) return "INSERT INTO t (part) SELECT generate_series(0, 63)";
      if (i % 2 == 1) return "INSERT INTO t (part) VALUES (" + part + ")";
      return "INSERT INTO t_" + part + " (part) VALUES (" + part + ")";
    };
    std::vector<SqlSession> writers;
    for (int i = 0; i < connections; ++i) {
      writers.push_back(database.connect("writer " + std::to_string(i)));
      writers.back().run("BEGIN; " + statement(i));
    }
    // Younger before older; those that hold a leaf alone last of all.
    for (const bool leaf : {false, true}) {
      for (int i = connections - 1; i >= 0; --i) {
        if ((i % 2 == 0 && i % 50 != 0) == leaf) writers[static_cast<std::size_t>(i)].run("COMMIT");
      }
    }
    const auto all = declared(database, "created_at, id");
    REQUIRE(all.size() == 10 * 64 + 490);
    CHECK(by_created_at.log.wait_for_rows(all.size()));
    CHECK(by_id.log.wait_for_rows(all.size()));
    by_created_at.relay.stop();
    by_id.relay.stop();
    CHECK(by_created_at.ids() == all);
    CHECK(by_id.ids() == declared(database, "id"));
  }
}

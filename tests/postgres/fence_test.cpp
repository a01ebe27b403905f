// No committed row is lost behind a transaction that may still insert (docs/fence.md): named
// sessions, named steps, both orders.
#include <doctest/doctest.h>

#include <map>

#include "postgres/lane_fixture.hpp"
#include "postgres/reader/fence_reader.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

/// A table, a lane that reads it, and producers by name.
class Stage {
 public:
  explicit Stage(OrderBy order_by, const std::string& ddl = "") {
    database.run(ddl.empty()
                     ? "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
                       "created_at timestamptz NOT NULL DEFAULT clock_timestamp(), "
                       "payload text); CREATE INDEX ON t (created_at, id)"
                     : ddl);
    SourceConfig source;
    source.table = "t";
    source.order_by = order_by;
    source.insert_latency = milliseconds{0};
    config = source;
  }

  TestLane& relay() {
    if (!lane_) {
      lane_ = std::make_unique<TestLane>(database, config);
      REQUIRE(lane_->claim());
    }
    return *lane_;
  }

  SqlSession& operator[](const std::string& producer) {
    auto found = producers_.find(producer);
    if (found == producers_.end()) {
      found = producers_.emplace(producer, database.connect(producer)).first;
    }
    return found->second;
  }

  void insert(const std::string& producer, const std::string& table = "t") {
    (*this)[producer].run("INSERT INTO " + table + " (payload) VALUES ('" + producer + "')");
  }

  Ids deliver() { return relay().deliver(); }

  TestDatabase database;
  SourceConfig config;

 private:
  std::unique_ptr<TestLane> lane_;
  std::map<std::string, SqlSession> producers_;
};

const std::string partitioned =
    "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, created_at timestamptz NOT NULL "
    "DEFAULT "
    "clock_timestamp(), payload text) PARTITION BY HASH (id);"
    "CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
    "CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
    "CREATE SEQUENCE ids";

}  // namespace

TEST_CASE("a row committed before an older one waits for it") {  // FAULTS 1
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  auto round = stage.relay().poll();
  CHECK(round.records.empty());
  CHECK(round.fenced);
  REQUIRE(round.blockers.size() == 1);
  CHECK(round.blockers[0].pid == stage["A"].pid());
  CHECK(round.blockers[0].application == "A");
  CHECK(round.blockers[0].user == "postgres");
  CHECK(round.blockers[0].state == "idle in transaction");
  CHECK_FALSE(round.blockers[0].ours);
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"1", "2"});
}

TEST_CASE("a row that is rolled back is waited for once and leaves a hole") {  // FAULTS 2
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  CHECK(stage.relay().poll().records.empty());
  stage["A"].run("ROLLBACK");
  CHECK(stage.deliver() == Ids{"2"});
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"3"});
}

TEST_CASE("whoever begins to write insert_latency after a hint does not hold its row up") {
  using Clock = std::chrono::steady_clock;
  TestDatabase database;
  SourceConfig source;
  source.insert_latency = milliseconds{20};
  Opened opened(database, source);
  auto& lane = opened.lane;
  const std::string append = "SELECT seriatim.append('b', '1', 'booked', '{}')";
  auto first = database.connect("first");
  first.run("BEGIN; " + append);
  database.run(append);
  REQUIRE(lane.session->wait_until(Clock::now() + milliseconds{20'000}));
  REQUIRE(lane.poll().fenced);
  REQUIRE(lane.session->wait_until(Clock::now() + milliseconds{20'000}));  // no other hint comes
  REQUIRE(lane.poll().fenced);
  auto second = database.connect("second");
  second.run("BEGIN; " + append);
  first.run("COMMIT");
  CHECK(lane.deliver() == Ids{"1", "2"});
}

TEST_CASE("an ordinary transaction is named with its pid, for its number comes again") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, " + stamped + ")");
  postgres::Connection connection(database.url(), {});
  const auto table = postgres::resolve_table(connection, testing::table("public.t"));
  const auto holder = [&] {
    const auto found = postgres::read_lock_holders(connection, table);
    REQUIRE(found.size() == 1);
    return found[0];
  };
  auto writer = database.connect();
  writer.run("BEGIN; INSERT INTO t DEFAULT VALUES");
  const auto number = database.value(
      "SELECT virtualtransaction FROM pg_locks WHERE relation = 't'::regclass AND pid IS NOT NULL");
  CHECK(holder().transaction == number + '@' + std::to_string(writer.pid()));
  CHECK_FALSE(holder().prepared);
  writer.run("PREPARE TRANSACTION 'named'");
  CHECK_FALSE(contains(holder().transaction, "@"));
  CHECK(holder().prepared);
  database.run("ROLLBACK PREPARED 'named'");
}

TEST_CASE("rows settled before a transaction began to write are not held by it") {
  BOTH_ORDERS
  Stage stage(order);
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"1"});
  stage.insert("B");
  stage.insert("B");
  CHECK(stage.relay().poll().records.size() == 2);  // the mark is now above them
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"2", "3"});
  CHECK(stage.relay().poll().fenced);
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"4", "5"});
}

TEST_CASE("newcomers never extend a wait") {
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  CHECK(stage.relay().poll().records.empty());
  stage["C"].run("BEGIN");
  stage.insert("C");
  CHECK(stage.relay().poll().records.empty());
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"1", "2"});
  stage["C"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"3"});
}

TEST_CASE("an older transaction that wrote later than the waiting row is not said to hold it") {
  BOTH_ORDERS
  Stage stage(order);
  stage.insert("B");
  REQUIRE(stage.deliver() == Ids{"1"});
  stage["old"].run("BEGIN; SELECT 1");
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  REQUIRE(stage.relay().poll().fenced);
  stage.insert("old");
  const auto round = stage.relay().poll();
  REQUIRE(round.blockers.size() == 1);
  CHECK(round.blockers[0].pid == stage["A"].pid());
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"2", "3"});
}

TEST_CASE("readers, writers of other tables and lockers without writes hold nothing") {
  BOTH_ORDERS
  Stage stage(order);
  stage.database.run("CREATE TABLE other (n int)");
  stage["reader"].run("BEGIN; SELECT * FROM t");
  stage["writer"].run("BEGIN; INSERT INTO other VALUES (1)");
  stage["locker"].run("BEGIN; SELECT * FROM t FOR UPDATE");
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"1"});
}

TEST_CASE("who holds up what is behind the rows that go out is reported when they are gone") {
  BOTH_ORDERS
  Stage stage(order);
  stage.insert("B");
  stage.insert("B");
  auto& lane = stage.relay();
  REQUIRE(lane.deliver(1) == Ids{"1"});
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  auto round = lane.poll();
  CHECK(ids_of(round) == Ids{"2"});
  CHECK_FALSE(round.fenced);
  CHECK(round.blockers.empty());
  REQUIRE(lane.advance(round));
  round = lane.poll();
  CHECK(round.records.empty());
  CHECK(round.fenced);
  CHECK(round.blockers.size() == 1);
}

TEST_CASE("a transaction prepared before the first read holds what comes after it") {  // FAULTS 3
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage["A"].run("PREPARE TRANSACTION 'before'");
  stage.insert("B");
  const auto round = stage.relay().poll();
  CHECK(round.records.empty());
  CHECK(round.fenced);
  REQUIRE(round.blockers.size() == 1);
  CHECK(round.blockers[0].pid == 0);
  CHECK(round.blockers[0].gid == "before");
  CHECK(round.blockers[0].state == "prepared");
  stage["C"].run("COMMIT PREPARED 'before'");
  CHECK(stage.deliver() == Ids{"1", "2"});
}

TEST_CASE("a transaction seen first and prepared later keeps its bound") {  // FAULTS 3
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  CHECK(stage.relay().poll().records.empty());
  stage["A"].run("PREPARE TRANSACTION 'later'");
  for (int poll = 0; poll < 3; ++poll) {
    const auto round = stage.relay().poll();
    CHECK(round.records.empty());
    REQUIRE(round.blockers.size() == 1);
    CHECK(round.blockers[0].gid == "later");
  }
  stage["C"].run("ROLLBACK PREPARED 'later'");
  CHECK(stage.deliver() == Ids{"2"});
}

TEST_CASE("a transaction prepared before a crash of the server holds rows after it") {  // FAULTS 3
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage["A"].run("PREPARE TRANSACTION 'crashed'");
  stage.insert("B");
  shared_server().stop(embedded::EmbeddedServer::Stop::immediate);
  shared_server().start();
  const auto round = stage.relay().poll();
  CHECK(round.records.empty());
  REQUIRE(round.blockers.size() == 1);
  CHECK(round.blockers[0].gid == "crashed");
  stage["C"].run("COMMIT PREPARED 'crashed'");
  CHECK(stage.deliver() == Ids{"1", "2"});
}

TEST_CASE("an idle writer that is terminated frees the rows behind it") {  // FAULTS 10
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  REQUIRE(stage.relay().poll().blockers.size() == 1);
  const auto pid = std::to_string(stage["A"].pid());
  stage.database.run("SELECT pg_terminate_backend(" + pid + ")");
  REQUIRE(stage.database.becomes_true(
      "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = " + pid + ")"));
  CHECK(stage.deliver() == Ids{"2"});
}

TEST_CASE("a savepoint rolled back inside a writer changes nothing for the fence") {
  BOTH_ORDERS
  Stage stage(order);
  stage["A"].run("BEGIN; SAVEPOINT s");
  stage.insert("A");
  stage["A"].run("ROLLBACK TO s");
  stage.insert("B");
  stage.insert("A");
  CHECK(stage.relay().poll().records.empty());
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"2", "3"});
}

TEST_CASE("writers through the parent and into a leaf both hold the tree") {
  BOTH_ORDERS
  Stage stage(order, partitioned);
  std::string into = "t";
  SUBCASE("through the parent") {}
  SUBCASE("into the leaf") {
    into = "t1";
  }
  // The leaf that takes id 1, whichever it is.
  stage["A"].run("BEGIN");
  if (into == "t1") {
    into = stage.database.value(
        "SELECT CASE WHEN satisfies_hash_partition('t'::regclass, 2, 0, 1::bigint) THEN 't0' ELSE "
        "'t1' END");
    stage["A"].run("INSERT INTO " + into +
                   " (id, payload) OVERRIDING SYSTEM VALUE VALUES (1, 'A')");
    stage["B"].run("SELECT nextval(pg_get_serial_sequence('t', 'id'))");
  } else {
    stage.insert("A");
  }
  stage.insert("B");
  CHECK(stage.relay().poll().records.empty());
  CHECK(stage.relay().poll().fenced);
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"1", "2"});
}

TEST_CASE("a lane that reads one partition is held by writers through the parent") {
  Stage stage(OrderBy::created_at, partitioned);
  // A has written to the other leaf only, and may write to this one next.
  stage.config.table = stage.database.value(
      "SELECT CASE WHEN satisfies_hash_partition('t'::regclass, 2, 0, 1::bigint) THEN 't1' ELSE "
      "'t0' "
      "END");
  const auto in_this_leaf = stage.database.value(
      "SELECT min(i) FROM generate_series(2, 100) AS i WHERE "
      "satisfies_hash_partition('t'::regclass, "
      "2, 0, i::bigint) <> satisfies_hash_partition('t'::regclass, 2, 0, 1::bigint)");
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage["B"].run("INSERT INTO " + stage.config.table + " (id) OVERRIDING SYSTEM VALUE VALUES (" +
                 in_this_leaf + ")");
  CHECK(stage.relay().poll().records.empty());
  CHECK(stage.relay().poll().blockers.size() == 1);
  stage["A"].run("ROLLBACK");
  CHECK(stage.deliver() == Ids{in_this_leaf});
}

TEST_CASE("a row at the bound itself is not settled: an earlier sibling may still come") {
  Stage stage(OrderBy::created_at);
  stage.database.run("INSERT INTO t (created_at) VALUES ('2020-01-01')");
  CHECK(stage.deliver() == Ids{"1"});
  stage["A"].run("BEGIN; INSERT INTO t (created_at) VALUES ('2020-01-01')");
  stage.database.run("INSERT INTO t (created_at) VALUES ('2020-01-01')");
  stage.relay().open();  // a new session knows of A only that it is there: the cursor bounds it
  REQUIRE(stage.relay().claim());
  CHECK(stage.relay().poll().records.empty());
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == Ids{"2", "3"});
}

TEST_CASE("ids without a hole go out whatever the locks say, and a hole asks") {
  Stage stage(OrderBy::id);
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"1"});
  stage.insert("B");
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"2"});
  const auto round = stage.relay().poll();
  CHECK(round.records.empty());
  CHECK(round.fenced);
  CHECK(round.blockers.size() == 1);
}

TEST_CASE("the bare latency guard loses what the fence keeps") {
  Stage stage(OrderBy::created_at);
  stage.config.guard = Guard::latency;
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"2"});
}

TEST_CASE(
    "a thousand rows of one created_at come each once, by id, over many batches") {  // FAULTS 5
  BOTH_ORDERS
  Stage stage(order);
  stage.database.run(
      "INSERT INTO t (created_at, payload) SELECT '2020-01-01', i::text FROM "
      "generate_series(1, 1000) AS i");
  std::vector<std::string> got;
  for (auto ids = stage.relay().deliver(7); !ids.empty(); ids = stage.relay().deliver(7)) {
    got.insert(got.end(), ids.begin(), ids.end());
  }
  REQUIRE(got.size() == 1000);
  for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(got[i] == std::to_string(i + 1));
}

TEST_CASE("a row younger than insert_latency is waited for, not reported as none") {
  Stage stage(OrderBy::created_at);
  stage.config.insert_latency = milliseconds{20};
  stage.relay();
  stage.insert("B");
  CHECK(stage.deliver() == Ids{"1"});
}

TEST_CASE("many rows behind a writer, and those settled before it, go out in order") {
  BOTH_ORDERS
  Stage stage(order);
  Ids expected;
  for (int id = 1; id <= 124; ++id) expected.push_back(std::to_string(id));
  const auto insert = [&](const std::string& rows) {
    stage["B"].run("INSERT INTO t (payload) SELECT 'x' FROM generate_series(1, " + rows + ")");
  };
  Ids delivered;
  const auto deliver = [&] {
    for (auto ids = stage.deliver(); !ids.empty(); ids = stage.deliver()) {
      delivered.insert(delivered.end(), ids.begin(), ids.end());
    }
  };
  insert("3");
  deliver();
  insert("20");
  stage.relay().poll();  // so they are older than A
  stage["A"].run("BEGIN");
  stage.insert("A");
  for (const auto* rows : {"10", "90"}) {  // few, and more than are read before they are settled
    insert(rows);
    deliver();
    CHECK(delivered.size() == 23);
    CHECK(stage.relay().poll().fenced);
  }
  stage["A"].run("COMMIT");
  deliver();
  CHECK(delivered == expected);
}

TEST_CASE("a row that cannot be read is no reason to halt before it is settled") {
  Stage stage(OrderBy::created_at);
  std::string payload = "''";
  bool can_be_read = false;
  SUBCASE("its expression fails") {
    stage.config.payload = "(100 / length(payload))::text";
  }
  SUBCASE("it is too large") {
    stage.config.payload_max = 100;
    payload = "repeat('x', 101)";
  }
  SUBCASE("it is only over its share of a batch") {
    stage.config.batch_bytes = 10'000;
    payload = "repeat('x', 5000)";
    can_be_read = true;
  }
  stage.insert("B");
  CHECK(stage.relay().poll().records.size() == 1);
  stage["A"].run("BEGIN");
  stage.insert("A");
  stage["B"].run("INSERT INTO t (payload) VALUES (" + payload + ")");
  CHECK(stage.deliver() == Ids{"1"});
  for (int again = 0; again < 2; ++again) {
    const auto round = stage.relay().poll();
    CHECK(round.records.empty());
    CHECK(round.fenced);
    CHECK_FALSE(round.unreadable);
  }
  stage["A"].run("COMMIT");
  CHECK(stage.deliver() == (can_be_read ? Ids{"2", "3"} : Ids{"2"}));
  if (!can_be_read) {
    const auto last = stage.relay().poll();
    REQUIRE(last.unreadable);
    CHECK(last.unreadable->row_id == "3");
  }
}

TEST_CASE("a row stamped in the future holds the lane without losing it") {
  Stage stage(OrderBy::created_at);
  stage.insert("B");
  stage.database.run("INSERT INTO t (created_at) VALUES (clock_timestamp() + interval '1 hour')");
  CHECK(stage.deliver() == Ids{"1"});
  const auto round = stage.relay().poll();
  CHECK(round.records.empty());
  CHECK(round.fenced);
}

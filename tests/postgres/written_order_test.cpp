// late_rows = "deliver": rows of one transaction go out as they were written, whatever their ids.
#include <doctest/doctest.h>

#include <numeric>

#include "postgres/desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

/// What most frameworks make: random ids, and the time at which the transaction began. The payload
/// numbers the rows as they are written.
struct Framework {
  TestDatabase database;
  Target target;
  Admin admin{database.url()};
  std::vector<Record> delivered;

  explicit Framework(const std::string& partitions = "") {
    database.run(
        "CREATE TABLE events (id uuid NOT NULL DEFAULT gen_random_uuid(), created_at "
        "timestamptz NOT NULL DEFAULT now(), payload int) " +
        std::string(partitions.empty() ? "" : "PARTITION BY RANGE (created_at)"));
    database.run("CREATE INDEX ON events (created_at, id)");
    if (!partitions.empty()) database.run(partitions);
    target.process.name = "process";
    target.source = table("events");
    target.source.late_rows = OnLateRow::deliver;
  }
  TestLane relay() { return {database, target.source}; }

  void write(const std::string& statements) { database.run("BEGIN; " + statements + "; COMMIT"); }
  /// Delivers all there is, `rows_max` rows a poll; the payloads.
  std::vector<int> deliver(TestLane& lane, unsigned rows_max = 100) {
    for (;;) {
      const auto round = lane.poll(rows_max);
      if (round.records.empty() || !lane.advance(round)) break;
      delivered.insert(delivered.end(), round.records.begin(), round.records.end());
    }
    return payloads();
  }
  [[nodiscard]] std::vector<int> payloads() const {
    std::vector<int> numbers;
    for (const auto& record : delivered) numbers.push_back(std::stoi(*record.payload));
    return numbers;
  }
  bool sound() {
    return admin.audit(target, true, [](std::uint64_t) {}).at(0).sound();
  }
};

std::vector<int> up_to(int last) {
  std::vector<int> numbers(static_cast<std::size_t>(last));
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

std::string row(int number) {
  return "INSERT INTO events (payload) VALUES (" + std::to_string(number) + ");";
}

std::string rows(int first, int last) {
  std::string statements;
  for (int number = first; number <= last; ++number) statements += row(number);
  return statements;
}

}  // namespace

TEST_CASE("rows of a transaction go out as they were written") {
  Framework events;
  SUBCASE("by one statement each") {
    events.write(rows(1, 12));
  }
  SUBCASE("by one statement with many rows") {
    events.write(
        "INSERT INTO events (payload) VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11),(12)");
  }
  SUBCASE("by INSERT … SELECT") {
    events.write("INSERT INTO events (payload) SELECT n FROM generate_series(1, 12) AS n");
  }
  SUBCASE("by COPY") {
    events.write("COPY events (payload) FROM PROGRAM 'seq 12'");
  }
  SUBCASE("by a trigger") {
    events.database.run(R"(
        CREATE TABLE orders (n int);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO events (payload) VALUES (2 * NEW.n - 1), (2 * NEW.n); RETURN NULL; END';
        CREATE TRIGGER note AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION note();)");
    events.write(
        "INSERT INTO orders VALUES (1), (2), (3); INSERT INTO orders VALUES (4), (5), (6)");
  }
  SUBCASE("with savepoints, released and rolled back") {
    events.write(rows(1, 3) + "SAVEPOINT a;" + rows(4, 5) + "RELEASE a;" + row(6) + "SAVEPOINT b;" +
                 rows(90, 94) + "ROLLBACK TO b;" + rows(7, 9) + "SAVEPOINT c;" + rows(10, 12));
  }
  SUBCASE("and prepared") {
    events.database.run("BEGIN;" + rows(1, 12) + "PREPARE TRANSACTION 'written'");
    events.database.run("COMMIT PREPARED 'written'");
  }
  SUBCASE("with other statements in between") {
    events.write("CREATE TABLE other (n int);" + rows(1, 6) + "INSERT INTO other VALUES (1), (2);" +
                 "UPDATE other SET n = 3;" + rows(7, 12));
  }
  auto lane = events.relay();
  REQUIRE(lane.claim());
  CHECK(events.deliver(lane) == up_to(12));
  CHECK(events.sound());
}

TEST_CASE("rows of a transaction in several partitions go out as they were written") {
  Framework events(
      "CREATE TABLE events_old PARTITION OF events FOR VALUES FROM (MINVALUE) TO ('2020-01-01');"
      "CREATE TABLE events_new PARTITION OF events FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);");
  events.write(rows(1, 12));
  auto lane = events.relay();
  REQUIRE(lane.claim());
  CHECK(events.deliver(lane) == up_to(12));
}

TEST_CASE("a batch that would end within a transaction holds it whole") {
  Framework events;
  for (int first = 1; first <= 40; first += 8) events.write(rows(first, first + 7));
  for (const unsigned rows_max : {1U, 3U, 8U, 11U}) {
    auto lane = events.relay();
    REQUIRE(lane.claim());
    events.delivered.clear();
    CHECK(events.deliver(lane, rows_max) == up_to(40));
    CHECK(events.sound());
    lane.session->release(lane.cursor.epoch, false);
    events.admin.rewind(events.target, {}, alice);
  }
}

TEST_CASE("a process that ends within a transaction goes on in its order, under its numbers") {
  Framework events;
  events.write(rows(1, 9));
  auto lane = events.relay();
  REQUIRE(lane.claim());
  auto round = lane.poll();
  REQUIRE(round.records.size() == 9);
  const auto from = lane.cursor.position;
  REQUIRE(lane.start());
  for (std::size_t i = 0; i < 4; ++i) events.delivered.push_back(round.records[i]);
  std::vector<Position> done;
  for (const auto& record : events.delivered) done.push_back(record.position);
  REQUIRE(lane.settle({from, done, {}, Rest{}}));
  lane.session.reset();
  lane.open();
  REQUIRE(lane.claim());
  CHECK(lane.cursor.sequence == 4);
  CHECK(events.deliver(lane, 2) == up_to(9));
  CHECK(lane.cursor.sequence == 9);
  CHECK(events.sound());
}

TEST_CASE("rows of a transaction that comes late go out as they were written") {
  Framework events;
  auto open = events.database.connect("open");
  open.run("BEGIN; SELECT now()");
  events.write(rows(1, 2));
  auto lane = events.relay();
  REQUIRE(lane.claim());
  REQUIRE(events.deliver(lane) == up_to(2));
  open.run(rows(3, 12) + "COMMIT");
  CHECK(events.deliver(lane, 4) == up_to(12));
  CHECK(events.sound());
}

TEST_CASE("a row that is too large halts the lane before its whole transaction") {
  Framework events;
  events.target.source.payload_max = 1;
  events.write(rows(1, 2));
  events.write(rows(3, 4) + row(55) + rows(5, 8));
  auto lane = events.relay();
  REQUIRE(lane.claim());
  auto round = lane.poll();
  events.delivered = round.records;
  CHECK(events.payloads() == up_to(2));
  REQUIRE(lane.advance(round));
  round = lane.poll();
  CHECK(round.records.empty());
  CHECK(round.unreadable);
  events.database.run("DELETE FROM events WHERE payload = 55");
  CHECK(events.deliver(lane) == up_to(8));
}

TEST_CASE("a transaction with a row that `where` fails on goes out in the order of its ids") {
  Framework events;
  events.target.source.where = "10 / (payload - 5) <> 99";
  events.write(rows(1, 8));
  auto lane = events.relay();
  REQUIRE(lane.claim());
  PollResult round;
  while (!(round = lane.poll()).unreadable) REQUIRE(lane.advance(round));
  events.database.run("DELETE FROM events WHERE payload = 5");
  while (!(round = lane.poll()).records.empty()) REQUIRE(lane.advance(round));
  CHECK(lane.cursor.sequence == 7);
  CHECK(events.sound());
}

TEST_CASE("the row a transaction's delivery is at is skipped, wherever its id is") {
  for (int i = 0; i < 6; ++i) {  // the ids are random
    Framework events;
    events.write(rows(1, 6));
    auto lane = events.relay();
    REQUIRE(lane.claim());
    const auto round = lane.poll();
    REQUIRE(lane.start());
    const auto& failed = round.records.front();
    REQUIRE(lane.settle(
        {lane.cursor.position, {}, {}, Halt{HaltReason::poison, {failed.id(), "HTTP 422"}}}));
    CHECK(events.admin.skip(events.target, failed.id(), alice).size() == 1);
    REQUIRE(lane.claim());
    CHECK(events.deliver(lane) == std::vector<int>{2, 3, 4, 5, 6});
    CHECK(events.sound());
  }
}

TEST_CASE("a jump over a transaction whose delivery was begun accounts for its rows once") {
  Framework events;
  auto lane = events.relay();
  REQUIRE(lane.claim());
  std::vector<int> expected;
  for (int i = 1; i <= 4; ++i) {  // the ids are random
    events.write(rows(90, 95));
    (void)lane.poll();
    REQUIRE(lane.start());
    lane.session.reset();
    events.admin.rewind(events.target, {postgres::RewindPlace::Kind::end, ""}, alice);
    CHECK(events.sound());
    events.write(row(i));
    expected.push_back(i);
    lane.open();
    REQUIRE(lane.claim());
    CHECK(events.deliver(lane) == expected);
    CHECK(events.sound());
  }
}

// The next batch is read while one is in flight, and never anything a poll would not have brought.
#include "postgres/reader/read_ahead.hpp"

#include <atomic>
#include <functional>
#include <limits>

#include "postgres/desk.hpp"
#include "seriatim/relay.hpp"
#include "support/process.hpp"

using namespace seriatim;
using namespace seriatim::postgres;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

PollResult round_of(const std::string& id) {
  PollResult round;
  Record record;
  record.position = {1, id};
  round.records.push_back(record);
  return round;
}

const Position ten{1, "10"};
constexpr int never = std::numeric_limits<int>::max();
constexpr std::size_t plenty = 1'000'000;

bool soon(const std::function<bool()>& fact) {
  try {
    wait_until("it is read", fact, milliseconds{500});
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

Position at(int number) {
  return {1, std::to_string(number)};
}

struct Reading final : ReadAhead::Reader {
  using Poll = std::function<PollResult(const Position& after, unsigned rows_max)>;

  explicit Reading(Poll reads) : poll(std::move(reads)) {}
  PollResult read(const Position& after, unsigned rows_max) override {
    return poll(after, rows_max);
  }
  Poll poll;
};

ReadAhead::Open opens(Reading::Poll poll) {
  return [poll = std::move(poll)] { return std::make_unique<Reading>(poll); };
}

/// A backlog of batches of one row, ten bytes each, and a lane that has taken one of them.
struct Backlog {
  explicit Backlog(std::size_t bytes_max, std::size_t bytes_of_row = 10)
      : row_bytes(bytes_of_row),
        ahead([this] { return std::make_unique<Reading>(poll()); }, bytes_max) {
    ahead.begin(at(++taken), 1);
    REQUIRE(ahead.take(at(taken), 1));
  }
  Reading::Poll poll() {
    return [this](const Position& after, unsigned) {
      const int number = ++polls;
      for (int held = held_at; number >= held; held = held_at) held_at.wait(held);
      read = std::stoi(after.id) + 1;
      if (read > last) return nothing();
      auto round = round_of(std::to_string(read));
      round.records[0].payload = std::string(row_bytes, 'x');
      return round;
    };
  }
  /// The batch after the one taken last, and the number of the last one read by then.
  void take() {
    const auto round = ahead.take(at(++taken), 1);
    REQUIRE(round);
    CHECK(ids_of(*round) == Ids{std::to_string(taken + 1)});
  }
  void await_polls(int number) {
    wait_until("it was polled", [&] { return polls == number; });
  }
  void await_read(int number) {
    wait_until("it is read", [&] { return read == number; });
  }
  /// The poll of this number, and those after it, wait.
  void hold_at(int poll) {
    held_at = poll;
    held_at.notify_all();
  }
  int taken = 10;
  std::atomic<int> held_at = never;
  std::size_t row_bytes;
  std::atomic<int> last = 1'000'000;  ///< of the backlog
  std::function<PollResult()> nothing = [] { return PollResult{}; };
  std::atomic<int> polls = 0;
  std::atomic<int> read = 0;
  ReadAhead ahead;
};

struct Batches final : Handler {
  Batches(Ids& seen, std::size_t& most) : ids(seen), largest(most) {}
  BatchOutcome handle(std::span<const Record> batch, const CallContext&) override {
    for (const auto& record : batch) ids.push_back(record.id());
    largest = std::max(largest, batch.size());
    return {batch.size(), std::nullopt};
  }
  Ids& ids;
  std::size_t& largest;
};

/// Row 1 delivered, rows 2 and 3 in the call, and those after them, which `insert` brings, read.
struct Ahead {
  Ahead(Desk& desk, const std::function<void()>& insert) : lane(desk.relay()) {
    lane.config.read_ahead = true;
    lane.config.commit_every = 2;
    lane.session.reset();
    lane.open();
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver(1) == Ids{"1"});
    do {  // again where this took so long that the audit is due before the next batch
      const auto round = lane.poll(2);
      REQUIRE(ids_of(round) == Ids{"2", "3"});
      advance = {lane.cursor.position, {round.records[0].position, round.records[1].position}, {}};
      REQUIRE(lane.start());
      insert();
      lane.session->read_ahead(advance.done.back(), 2);
    } while (!soon([&] { return lane.session->rows_ahead(advance.done.back()) > 0; }));
    advance.fate = Next{.rows = 2, .read_ahead = true};
  }
  TestLane lane;
  Settlement advance;
};

/// Refuses the first row of key "a".
struct RefusesOne final : Handler {
  explicit RefusesOne(Ids& seen) : ids(seen) {}
  BatchOutcome handle(std::span<const Record> batch, const CallContext&) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].id() == "41") return {i, Outcome::poison("no")};
      ids.push_back(batch[i].id());
    }
    return {batch.size(), std::nullopt};
  }
  Ids& ids;
};

}  // namespace

TEST_SUITE("reading ahead") {
  TEST_CASE("what was begun for a place is taken for that place, once") {
    ReadAhead ahead(opens([](const Position& after, unsigned) { return round_of(after.id + "+"); }),
                    plenty);
    CHECK_FALSE(ahead.take(ten, 5));
    ahead.begin(ten, 5);
    CHECK_FALSE(ahead.take(Position{1, "11"}, 5));
    CHECK_FALSE(ahead.take(ten, 6));
    const auto round = ahead.take(ten, 5);
    REQUIRE(round);
    CHECK(round->records.at(0).id() == "10+");
    CHECK_FALSE(ahead.take(ten, 5));
  }

  TEST_CASE("what was forgotten is not taken, though it was still being read") {
    std::atomic<bool> go_on = false;
    ReadAhead ahead(opens([&](const Position& after, unsigned) {
                      go_on.wait(false);
                      return round_of(after.id);
                    }),
                    plenty);
    ahead.begin(ten, 5);
    ahead.forget();
    go_on = true;
    go_on.notify_all();
    CHECK_FALSE(ahead.take(ten, 5));
  }

  TEST_CASE("a poll that fails, or brings no row, leaves nothing to take") {
    ReadAhead failing(
        []() -> std::unique_ptr<ReadAhead::Reader> { throw Error("too many connections"); },
        plenty);
    failing.begin(ten, 5);
    CHECK_FALSE(failing.take(ten, 5));
    failing.begin(ten, 5);  // and no second connection is asked for so soon
    CHECK_FALSE(failing.take(ten, 5));
    ReadAhead empty(opens([](const Position&, unsigned) { return PollResult{}; }), plenty);
    empty.begin(ten, 5);
    CHECK_FALSE(empty.take(ten, 5));
  }

  TEST_CASE("two batches are read ahead, and no more") {
    Backlog lane(plenty);
    for (int i = 0; i < 5; ++i) {
      lane.await_read(lane.taken + 3);
      lane.take();
    }
  }

  TEST_CASE("what lies ready keeps to the bytes of a batch") {
    Backlog lane(plenty, plenty / 2 + 1);
    for (int i = 0; i < 5; ++i) {
      lane.ahead.begin(at(lane.taken + 1), 1);
      lane.take();
      CHECK(lane.read == lane.taken + 1);
    }
  }

  TEST_CASE("behind the end, and behind a poll that failed, there is one poll a batch taken") {
    for (const bool fails : {false, true}) {
      CAPTURE(fails);
      Backlog lane(plenty);
      lane.await_read(lane.taken + 3);
      if (fails) lane.nothing = []() -> PollResult { throw Error("the session ended"); };
      lane.last = lane.taken + 3;
      for (int i = 0; i < 2; ++i) {
        const int before = lane.polls;
        lane.take();
        if (i == 0) lane.await_polls(before + 1);
        for (int checks = 0; checks < 1'000; ++checks) {
          CHECK(lane.ahead.ready(at(lane.taken + 1)) == (i < 1 ? 1 : 0));
        }
        CHECK(lane.polls <= before + 1);
      }
      CHECK_FALSE(lane.ahead.take(at(lane.taken + 1), 1));
    }
  }

  TEST_CASE("what lies ready for another place is not ready, and not taken") {
    Backlog lane(plenty);
    lane.await_read(lane.taken + 3);
    CHECK(lane.ahead.ready(at(lane.taken + 1)) == 1);
    CHECK(lane.ahead.ready(at(lane.taken + 2)) == 0);
    CHECK_FALSE(lane.ahead.take(at(lane.taken + 2), 1));
    lane.ahead.begin(at(lane.taken + 2), 1);
    CHECK(ids_of(*lane.ahead.take(at(lane.taken + 2), 1)) == Ids{std::to_string(lane.taken + 3)});
  }

  TEST_CASE("a session reads ahead on a second connection, and forgets it at a claim") {
    Desk desk;
    desk.insert(7);
    auto lane = desk.relay();
    lane.config.read_ahead = true;
    lane.session.reset();
    lane.open();
    REQUIRE(lane.claim());
    const auto first = lane.poll(5);
    REQUIRE(first.records.size() == 5);
    REQUIRE(lane.advance(first));
    lane.session->read_ahead(*lane.cursor.position, 5);
    CHECK(lane.poll(5).records.size() == 5);
    CHECK(desk.database.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = "
                              "'seriatim/process/0' AND datname = current_database()") == "2");

    lane.session->read_ahead(*lane.cursor.position, 5);
    REQUIRE(lane.claim());
    desk.database.run("DELETE FROM bookings WHERE id = 6");
    CHECK(ids_of(lane.poll(5)) == Ids{"7", "8", "9", "10"});
  }

  TEST_CASE("a batch that is read is announced with the commit before it, durably") {
    Desk desk;
    auto producer = desk.database.connect("producer");
    producer.run("SET synchronous_commit = off");
    std::string durable;
    Ahead ahead(desk, [&] {
      producer.run("INSERT INTO bookings (payload) VALUES ('{}'), ('{}')");
      durable = "SELECT pg_current_wal_flush_lsn() >= '" +
                desk.database.value("SELECT pg_current_wal_insert_lsn()") + "'";
    });
    auto& [lane, advance] = ahead;
    lane.session->transaction()->run("SET LOCAL synchronous_commit = off", {});  // of a read model
    REQUIRE(desk.database.value(durable) == "f");
    REQUIRE(lane.settle(advance));
    CHECK(desk.database.value(durable) == "t");
    CHECK(desk.cursor("attempts, sequence, handed_to, call_epoch = epoch") == "1|3|5|t");
    const auto round = lane.session->poll(advance.done.back(), 2, false);
    CHECK(round.announced);
    CHECK(ids_of(round) == Ids{"4", "5"});
  }

  TEST_CASE(
      "if the cursor cannot move, no batch is announced, and nothing written with it is kept") {
    for (const std::string meddled :
         {"UPDATE seriatim.cursor SET epoch = epoch + 1",  // by the handler's own statement
          "INSERT INTO model SELECT 2 FROM strict"}) {     // whose trigger divides at COMMIT
      CAPTURE(meddled);
      Desk desk;
      desk.database.run(
          "CREATE TABLE model (n int); CREATE TABLE strict AS SELECT 1;"
          "CREATE FUNCTION divide() RETURNS trigger LANGUAGE plpgsql AS "
          "$$ BEGIN PERFORM 1 / (NEW.n - 2); RETURN NULL; END $$;"
          "CREATE CONSTRAINT TRIGGER divide AFTER INSERT ON model DEFERRABLE INITIALLY DEFERRED "
          "FOR EACH ROW EXECUTE FUNCTION divide()");
      Ahead ahead(desk, [&] { desk.insert(2); });
      auto& [lane, advance] = ahead;
      auto& lent = *lane.session->transaction();
      lent.run("INSERT INTO model VALUES (1)", {});
      lent.run(meddled, {});
      CHECK_THROWS_AS(lane.settle(advance), SourceBroken);
      CHECK(desk.database.value("SELECT count(*) FROM model") == "0");
      CHECK(desk.cursor("epoch, sequence") == "1|1");
      CHECK_FALSE(lane.session->poll(lane.cursor.position, 2).announced);
    }
  }

  TEST_CASE("what was read before a claim is announced with no commit after it") {
    Desk desk;
    Ahead ahead(desk, [&] { desk.insert(2); });
    REQUIRE(ahead.lane.claim());
    CHECK(ahead.lane.session->rows_ahead(ahead.advance.done.back()) == 0);
  }

  TEST_CASE("rows of a parked key queue though they were read ahead") {
    Desk desk(OrderBy::id);
    desk.database.run(
        "INSERT INTO bookings (payload, customer) "
        "SELECT '{}', CASE WHEN g % 3 = 2 THEN 'a' END FROM generate_series(4, 2000) AS g");
    auto config = desk.target.process;
    config.read_ahead = true;
    config.batch_rows = config.commit_every = 10;
    config.on_poison = OnPoison::park_key;
    auto source = desk.target.source;
    source.key = "customer";
    Ids ids;
    Relay relay({.drain = true});
    relay.add(config, postgres_source(desk.database.url(), source),
              [&](unsigned) { return std::make_unique<RefusesOne>(ids); });
    relay.run({});
    Ids expected;
    for (int i = 1; i <= 2000; ++i) {
      if (i < 41 || i % 3 != 2) expected.push_back(std::to_string(i));
    }
    CHECK(ids == expected);
    CHECK(desk.database.value("SELECT count(*) FROM seriatim.parked") == "654");
  }

  TEST_CASE("a long backlog goes out whole and in order, read ahead in both orders") {
    for (const auto order : {OrderBy::created_at, OrderBy::id}) {
      Desk desk(order);
      desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(1, 2000)");
      auto config = desk.target.process;
      config.read_ahead = true;
      config.batch_rows = config.commit_every = 64;
      Ids ids;
      std::size_t largest = 0;
      Relay relay({.drain = true});
      relay.add(config, postgres_source(desk.database.url(), desk.target.source),
                [&](unsigned) { return std::make_unique<Batches>(ids, largest); });
      relay.run({});
      Ids expected;
      for (int i = 1; i <= 2003; ++i) expected.push_back(std::to_string(i));
      CHECK(ids == expected);
      CHECK(largest == 64);
    }
  }
}

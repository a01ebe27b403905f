// FAULTS 43: the cursor is moved by an operator, and nothing else notices too late.
#include <doctest/doctest.h>

#include "postgres/desk.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::RewindPlace;
using std::chrono::milliseconds;
using Kind = RewindPlace::Kind;

namespace {

const RewindPlace start{Kind::start, {}};
const RewindPlace end{Kind::end, {}};

RewindPlace row(const std::string& id) {
  return {Kind::row, id};
}

struct Wound : Desk {
  explicit Wound(OrderBy order, int rows = 10) : Desk(order) { insert(rows - 3); }

  TestLane lane{database, target.source, "relay", {target.process.name, 0, 1}};

  /// Delivers up to the row of that sequence number.
  void deliver(unsigned rows) {
    REQUIRE(lane.claim());
    while (lane.cursor.sequence < rows) {
      const auto left = static_cast<unsigned>(rows - lane.cursor.sequence);
      REQUIRE_FALSE(lane.deliver(left).empty());
    }
  }

  /// Every position behind the cursor lies in one bucket, and the numbers add up.
  bool ledger_is_whole() {
    return database.value(
               "SELECT NOT EXISTS (SELECT FROM (SELECT (from_at, from_id) IS NOT DISTINCT FROM "
               "(lag(to_at) OVER o, lag(to_id) OVER o) AS joins FROM (SELECT number, from_at, "
               "from_id, to_at, to_id FROM seriatim.ledger UNION ALL SELECT sequence + 1, "
               "bucket_at, bucket_id, NULL, NULL FROM seriatim.cursor) AS x WINDOW o AS (ORDER BY "
               "number)) AS y WHERE NOT joins) AND (SELECT sequence = ledger_start + "
               "seriatim.ledger_rows(bucket_ids, bucket_ranges) + (SELECT coalesce(sum(rows), 0) "
               "FROM seriatim.ledger) "
               "FROM seriatim.cursor)") == "t";
  }
};

}  // namespace

TEST_CASE("rewound, a lane delivers again from the row named, with the same sequence numbers") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Wound desk(order, 200);
    desk.deliver(150);
    auto& lane = desk.lane;
    const auto steps = desk.admin.rewind(desk.target, row("31"), alice);
    REQUIRE(steps.size() == 1);
    CHECK_FALSE(steps[0].forward);
    CHECK(steps[0].rows == 120);
    CHECK(desk.cursor("position_id, sequence, state") == "30|30|running");
    CHECK(desk.journal("act, who, why, position_id, row_id, detail->>'rows'") ==
          "rewind|alice@desk|the number is wrong|150|30|120");
    CHECK(desk.ledger_is_whole());
    CHECK(desk.database.value(
              "SELECT seriatim.ledger_rows(bucket_ids, bucket_ranges) FROM seriatim.cursor") ==
          "30");

    REQUIRE(lane.claim());
    CHECK(lane.deliver(3) == Ids{"31", "32", "33"});
    CHECK(lane.cursor.sequence == 33);
    CHECK(desk.ledger_is_whole());
  }
}

TEST_CASE("rewound to the start, to a time, and to a row inside a closed bucket") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Wound desk(order, 200);
    desk.deliver(200);
    const auto time = desk.database.value("SELECT created_at::text FROM bookings WHERE id = 100");
    desk.admin.rewind(desk.target, {Kind::time, time}, alice);
    CHECK(desk.cursor("position_id, sequence") == "99|99");
    CHECK(desk.ledger_is_whole());
    desk.admin.rewind(desk.target, row("70"), alice);
    CHECK(desk.cursor("position_id, sequence") == "69|69");
    CHECK(desk.ledger_is_whole());
    desk.admin.rewind(desk.target, start, alice);
    CHECK(desk.cursor("coalesce(position_id, '-'), sequence") == "-|0");
    CHECK(desk.database.value("SELECT count(*) FROM seriatim.ledger") == "0");
    CHECK(desk.ledger_is_whole());
  }
}

TEST_CASE("a jump forwards sets the rows aside by number, and the ledger accounts for them") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Wound desk(order);
    desk.deliver(2);
    auto& lane = desk.lane;
    const auto steps = desk.admin.rewind(desk.target, row("8"), alice);
    CHECK(steps.at(0).forward);
    CHECK(steps.at(0).rows == 5);
    CHECK(desk.cursor("position_id, sequence") == "7|7");
    CHECK(desk.ledger_is_whole());
    REQUIRE(lane.claim());
    CHECK(lane.deliver() == Ids{"8", "9", "10"});
    CHECK(lane.cursor.sequence == 10);

    desk.insert(2);
    desk.admin.rewind(desk.target, end, alice);
    CHECK(desk.cursor("position_id, sequence") == "12|12");
    desk.insert(1);
    REQUIRE(lane.claim());
    CHECK(lane.deliver() == Ids{"13"});
    CHECK(desk.ledger_is_whole());
  }
}

TEST_CASE("rows inserted after a rewind never get a number that a row had before") {
  Wound desk(OrderBy::id);
  desk.deliver(10);
  auto& lane = desk.lane;
  desk.database.run("DELETE FROM bookings WHERE id IN (6, 7)");
  desk.admin.rewind(desk.target, row("5"), alice);
  REQUIRE(lane.claim());
  desk.deliver(10);  // rows 5, 8, 9, 10
  CHECK(lane.cursor.position->id == "10");
  desk.insert(1);
  CHECK(lane.deliver() == Ids{"11"});
  CHECK(lane.cursor.sequence == 11);  // row 5 went out as 7 this time
}

TEST_CASE("a plan changes nothing, and says what a rewind then does") {
  Wound desk(OrderBy::created_at);
  desk.deliver(6);
  const auto before = desk.database.value("SELECT c::text FROM seriatim.cursor AS c");
  const auto plan = desk.admin.plan_rewind(desk.target, row("3"));
  CHECK(plan.at(0).rows == 4);
  CHECK(plan.at(0).sequence_to == 2);
  CHECK(desk.database.value("SELECT c::text FROM seriatim.cursor AS c") == before);
}

TEST_CASE("what a holder had in mind is refused after a rewind") {
  Wound desk(OrderBy::id);
  desk.deliver(5);
  auto& lane = desk.lane;
  const auto round = lane.poll(1);
  desk.admin.rewind(desk.target, row("2"), alice);
  CHECK_FALSE(lane.start());
  CHECK_FALSE(lane.settle({lane.cursor.position, {round.records.at(0).position}, {}, Rest{}}));
  CHECK(desk.cursor("position_id") == "1");
}

TEST_CASE("a jump forwards waits for transactions that could still commit a row it would pass") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Wound desk(order);
    desk.deliver(1);
    auto writer = desk.database.connect("slow producer");
    writer.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");
    desk.insert(1);
    try {
      desk.admin.rewind(desk.target, row("12"), alice, milliseconds{200});
      FAIL("it did not wait");
    } catch (const Error& refused) {
      CHECK(contains(refused.what(), "slow producer"));
    }
    CHECK(desk.cursor("position_id") == "1");
    writer.run("COMMIT");
    desk.admin.rewind(desk.target, row("12"), alice);
    CHECK(desk.cursor("position_id, sequence") == "11|11");
  }
}

TEST_CASE("a rewind clears a halt, keeps a pause, and demands a reason and a place") {
  Wound desk(OrderBy::created_at);
  desk.deliver(4);
  auto& lane = desk.lane;
  halt_at_next(lane);
  desk.admin.rewind(desk.target, row("2"), alice);
  CHECK(desk.cursor("state, coalesce(reason, '-'), attempts") == "running|-|0");
  desk.admin.pause(desk.target, alice);
  desk.admin.rewind(desk.target, start, alice);
  CHECK(desk.cursor("state") == "paused");

  CHECK_THROWS_WITH(desk.admin.rewind(desk.target, start, {"alice@desk", ""}),
                    doctest::Contains("reason"));
  CHECK_THROWS_WITH(desk.admin.rewind(desk.target, row("999"), alice),
                    doctest::Contains("no row 999"));
  CHECK_THROWS_WITH(desk.admin.rewind(desk.target, row("many"), alice),
                    doctest::Contains("\"many\" is no place"));
}

TEST_CASE("with a running holder, forwards and backwards: everything after the place, in order") {
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Wound desk(order, 300);
    DeliveryLog log;
    auto config = desk.target.process;
    config.batch_rows = 7;
    InProcessRelay relay(postgres_source(desk.database.url(), desk.target.source), config,
                         handler_from([&log](const Record& record) {
                           log.add(record);
                           return Outcome::done();
                         }));
    REQUIRE(log.wait_for_rows(100));
    desk.admin.rewind(desk.target, row("50"), alice);
    REQUIRE(desk.database.becomes_true("SELECT sequence = 300 FROM seriatim.cursor"));
    desk.admin.rewind(desk.target, row("250"), alice);
    desk.insert(5);
    REQUIRE(desk.database.becomes_true("SELECT sequence = 305 FROM seriatim.cursor"));
    relay.stop();

    std::uint64_t epoch = 0;
    std::uint64_t sequence = 0;
    for (const auto& record : log.records()) {
      CHECK(record.epoch >= epoch);
      if (record.epoch == epoch) CHECK(record.sequence == sequence + 1);
      CHECK(std::to_string(record.sequence) == record.id());
      epoch = record.epoch;
      sequence = record.sequence;
    }
    CHECK(sequence == 305);
    CHECK(desk.ledger_is_whole());
  }
}

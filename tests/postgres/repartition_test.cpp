// FAULTS 46: the number of lanes changes while rows come and go; each key's order is kept.
#include <doctest/doctest.h>

#include <map>
#include <thread>

#include "lab/writers/busy.hpp"
#include "postgres/admin/reports/row_report.hpp"
#include "postgres/pruned_desk.hpp"
#include "postgres/test_auditor.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

constexpr int keys = 12;

struct Keyed : Desk {
  explicit Keyed(OrderBy order = OrderBy::created_at) : Desk(order) {
    target.source.key = "customer";
    database.run("UPDATE bookings SET customer = 'c0'");
  }

  void insert_keyed(int rows) {
    database.run("INSERT INTO bookings (customer, payload) SELECT 'c' || n % " +
                 std::to_string(keys) + ", '{}' FROM generate_series(1, " + std::to_string(rows) +
                 ") AS n");
  }

  std::unique_ptr<InProcessRelay> run(unsigned lanes, DeliveryLog& log) {
    auto config = target.process;
    config.lanes = lanes;
    config.batch_rows = 10;
    config.standby_interval = milliseconds{20};
    return std::make_unique<InProcessRelay>(postgres_source(database.url(), target.source), config,
                                            handler_from([&log](const Record& record) {
                                              log.add(record);
                                              return Outcome::done();
                                            }));
  }

  postgres::ActResult cut(unsigned lanes,
                          const std::function<bool(const std::string&)>& wait = {}) {
    return admin.repartition(target, lanes, alice, [&](const std::string& left) {
      std::this_thread::yield();
      return wait ? wait(left) : true;
    });
  }

  std::string lanes() {
    return database.value(
        "SELECT string_agg(lane || '/' || lanes || '@' || position_id, ' ' ORDER "
        "BY lane) FROM seriatim.cursor");
  }

  /// What to check if it does not go on.
  std::string lanes_text() {
    std::string text;
    for (const auto& report : admin.status(target)) {
      text += "lane " + std::to_string(report.lane.lane) + ' ' + to_string(report.lane.state) +
              ", " + std::to_string(report.lag_records.value_or(0)) + " rows wait, held by \"" +
              report.holder + "\" " + report.lane.detail +
              (report.wait ? " waits: " + report.wait->text : "") + '\n';
    }
    return text;
  }

  bool all_delivered() {
    return database.becomes_true(
        "SELECT (SELECT coalesce(sum(rows), 0) FROM seriatim.ledger) + (SELECT "
        "sum(seriatim.ledger_rows(bucket_ids, bucket_ranges)) FROM seriatim.cursor) = (SELECT "
        "count(*) FROM bookings)",
        60);
  }
};

/// Each row once, each key in the order of its ids, and no sequence number twice in an epoch.
void judge(const std::vector<Record>& records, std::size_t rows) {
  std::map<std::string, long> last_id;
  std::map<unsigned, std::pair<std::uint64_t, std::uint64_t>> last_number;  // lane: epoch, sequence
  std::map<std::string, int> times;
  for (const auto& record : records) {
    CAPTURE(record.id());
    times[record.id()] += 1;
    auto& id = last_id[record.key.value_or("")];
    CHECK(std::stol(record.id()) > id);
    id = std::stol(record.id());
    const auto number = std::make_pair(record.epoch, record.sequence);
    auto& last = last_number[record.lane];
    CHECK(number.first >= last.first);
    CHECK(number.second > last.second);
    last = number;
  }
  CHECK(times.size() == rows);
  for (const auto& [id, count] : times) {
    const auto& shown = id;
    CAPTURE(shown);
    CHECK(count == 1);
  }
}

/// A process that was cut anew, sixty rows delivered in each cut.
struct Recuts : Keyed {
  Recuts(OrderBy order, const std::vector<unsigned>& cuts) : Keyed(order) {
    for (const auto lanes : cuts) {
      if (!relays.empty()) cut(lanes);
      open(lanes);
      insert_keyed(30);
      if (lanes == cuts.front()) database.run("SELECT nextval('bookings_id_seq')");
      insert_keyed(30);
      for (auto& relay : relays) {
        while (!relay->deliver().empty()) {
        }
      }
    }
  }
  void open(unsigned lanes) {
    relays.clear();
    target.process.lanes = lanes;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      relays.push_back(std::make_unique<TestLane>(database, target.source, "relay",
                                                  LaneId{"process", lane, lanes}));
      REQUIRE(relays.back()->claim());
    }
  }
  /// Row 34, in the hole that was left among the rows of the first cut.
  void put_back() {
    database.run(
        "INSERT INTO bookings (id, created_at, customer) OVERRIDING SYSTEM VALUE"
        " SELECT 34, created_at, 'c7' FROM bookings WHERE id = 33");
  }
  std::vector<postgres::LaneAudit> audit() {
    return admin.audit(target, true, [](std::uint64_t) {});
  }
  std::vector<std::unique_ptr<TestLane>> relays;
};

}  // namespace

TEST_CASE("lanes are cut anew under load: each key in order, each row once, no number twice") {
  struct Way {
    OrderBy order;
    OnLateRow late_rows;
  };
  for (const auto& [order, late_rows] :
       {Way{OrderBy::created_at, OnLateRow::halt}, Way{OrderBy::id, OnLateRow::halt},
        Way{OrderBy::created_at, OnLateRow::deliver}}) {
    Keyed desk(order);
    desk.target.source.late_rows = late_rows;
    DeliveryLog log;
    std::map<unsigned, std::unique_ptr<InProcessRelay>> relays;
    for (const unsigned lanes : {2U, 5U, 1U, 3U}) relays[lanes] = nullptr;
    relays[2] = desk.run(2, log);
    REQUIRE(log.wait_for_rows(3));

    lab::Tally tally;
    const auto rows = [&] { return static_cast<std::size_t>(3 + tally.rows); };
    const lab::Shape three{.insert =
                               "INSERT INTO bookings (customer, payload) SELECT 'c' || "
                               "(random() * 11)::int, '{}' FROM generate_series(1, 3)",
                           .rows = 3};
    lab::Writers producer({.open = lab::Busy{desk.database.url(), {three}, tally},
                           .may_begin = [&] { return rows() <= log.size() + 300; }});
    producer.start();
    for (const unsigned lanes : {5U, 1U, 3U}) {
      relays[lanes] = desk.run(lanes, log);  // waits until the lanes are as it is configured
      REQUIRE(log.wait_for_rows(log.size() + 50));
      desk.cut(lanes);
    }
    REQUIRE(log.wait_for_rows(log.size() + 50));
    producer.stop();
    INFO("the lanes, in the end:\n", desk.lanes_text());
    REQUIRE(desk.all_delivered());
    for (auto& [lanes, relay] : relays) relay->stop();
    judge(log.records(), rows());
    CHECK(desk.database.value("SELECT string_agg(detail->>'to', ',' ORDER BY id) FROM "
                              "seriatim.journal WHERE act = 'lanes' AND lane = 0") == "5,1,3");
  }
}

TEST_CASE("no lane runs past the barrier, and none is exchanged before all have reached it") {
  Keyed desk;
  desk.insert_keyed(200);
  LaneId first{"process", 0, 2};
  LaneId second{"process", 1, 2};
  desk.target.process.lanes = 2;
  TestLane ahead(desk.database, desk.target.source, "relay", first);
  TestLane behind(desk.database, desk.target.source, "relay", second);
  REQUIRE(ahead.claim());
  REQUIRE(behind.claim());
  REQUIRE_FALSE(ahead.deliver(50).empty());
  const auto barrier = ahead.cursor.position->id;

  std::string reported;
  const auto result = desk.cut(3, [&](const std::string& left) {
    const bool first_time = reported.empty();
    reported = left;
    if (first_time) CHECK_FALSE(ahead.start());
    REQUIRE(ahead.claim());
    CHECK(ahead.poll().records.empty());  // nothing of its own up to the barrier is left
    REQUIRE(behind.claim());
    for (const auto& id : behind.deliver(7)) CHECK(std::stol(id) <= std::stol(barrier));
    return true;
  });
  CHECK(contains(reported, "lane 1"));
  CHECK(contains(result.at(0), "after row " + barrier));
  CHECK(desk.lanes() == "0/3@" + barrier + " 1/3@" + barrier + " 2/3@" + barrier);
  CHECK_THROWS_AS(ahead.session->claim(), SourceBroken);
}

TEST_CASE("rows are pruned between cuts: numbers go on, and the audit stays complete") {
  BOTH_ORDERS
  Recuts desk(order, {3});
  std::map<unsigned, std::uint64_t> numbers;
  for (const unsigned lanes : {1U, 3U, 1U, 3U}) {
    CAPTURE(lanes);
    const auto pruned =
        postgres::prune(desk.database.url(), {desk.target}, everything(), alice, go_on);
    CHECK(pruned.front().rows > 40);
    CHECK(pruned.front().sound());
    for (const auto& lane : desk.audit()) CHECK(lane.sound());
    for (const auto& relay : desk.relays) {
      auto& number = numbers[relay->id.lane];
      CHECK(relay->cursor.sequence > number);
      number = relay->cursor.sequence;
    }
    desk.cut(lanes);
    desk.open(lanes);
    desk.insert_keyed(60);
    for (auto& relay : desk.relays) {
      while (!relay->deliver().empty()) {
      }
    }
    for (const auto& lane : desk.audit()) CHECK(lane.sound());
  }
}

TEST_CASE("given up, the barrier is gone and the lanes are as they were") {
  Keyed desk;
  desk.insert_keyed(100);
  desk.target.process.lanes = 2;
  TestLane lane(desk.database, desk.target.source, "relay", {"process", 0, 2});
  TestLane other(desk.database, desk.target.source, "relay", {"process", 1, 2});
  REQUIRE(lane.claim());
  REQUIRE(other.claim());
  REQUIRE_FALSE(lane.deliver(20).empty());
  const auto result = desk.cut(4, [](const std::string& left) {
    CHECK(contains(left, "lane 1"));
    return false;
  });
  CHECK(contains(result.at(0), "given up"));
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.cursor WHERE barrier_id IS NULL AND "
                            "lanes = 2") == "2");
  REQUIRE(lane.claim());
  CHECK_FALSE(lane.poll().records.empty());
}

TEST_CASE("a halted lane is named while the barrier waits for it") {
  Keyed desk;
  desk.insert_keyed(100);
  desk.target.process.lanes = 2;
  TestLane lane(desk.database, desk.target.source, "relay", {"process", 0, 2});
  TestLane halted(desk.database, desk.target.source, "relay", {"process", 1, 2});
  REQUIRE(lane.claim());
  REQUIRE_FALSE(lane.deliver(20).empty());
  REQUIRE(halted.claim());
  halt_at_next(halted);
  desk.cut(1, [](const std::string& left) {
    CHECK(contains(left, "halted: `retry` or `skip`"));
    return false;
  });
}

TEST_CASE("a barrier left by an interrupted command is reported, with those who wait behind it") {
  Keyed desk;
  desk.insert_keyed(100);
  desk.target.process.lanes = 2;
  TestLane ahead(desk.database, desk.target.source, "relay", {"process", 0, 2});
  TestLane behind(desk.database, desk.target.source, "relay", {"process", 1, 2});
  REQUIRE(ahead.claim());
  REQUIRE(behind.claim());
  REQUIRE_FALSE(ahead.deliver(20).empty());
  const auto barrier = ahead.cursor.position->id;
  CHECK_FALSE(desk.admin.status(desk.target).at(0).barrier);
  CHECK_THROWS_AS(desk.cut(3, [](const std::string&) -> bool { throw Error("killed"); }), Error);

  const auto reports = desk.admin.status(desk.target);
  const auto& reached = reports.at(0).barrier.value();
  CHECK(reached.reached);
  CHECK(reached.position.id == barrier);
  CHECK(reached.lanes == 2);
  CHECK(reached.who == "alice@desk");
  CHECK(reached.since.find('T') == 10);
  CHECK(reports[0].lane.state == LaneState::idle);
  CHECK_FALSE(reports.at(1).barrier.value().reached);
  CHECK(desk.admin.why(desk.target, *reports[0].next_id).lane.value().barrier.value().reached);

  desk.cut(2);
  CHECK_FALSE(desk.admin.status(desk.target).at(0).barrier);
}

TEST_CASE("a first row delivered while lanes that never moved are cut is not delivered again") {
  Keyed desk;
  desk.target.process.lanes = 2;
  TestLane first(desk.database, desk.target.source, "relay", {"process", 0, 2});
  TestLane second(desk.database, desk.target.source, "relay", {"process", 1, 2});
  REQUIRE(first.claim());
  REQUIRE(second.claim());
  desk.database.run(R"(
      CREATE FUNCTION deliver() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE seriatim.cursor SET sequence = 1, bucket_ids = '{1}', position_id = '1',
            position_at = (SELECT created_at FROM bookings WHERE id = 1)
        WHERE lane = 0 AND position_id IS NULL;
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER first_row AFTER INSERT ON seriatim.journal
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.act LIKE 'barrier%')
          EXECUTE FUNCTION deliver())");
  CHECK(contains(desk.cut(1).at(0), "after row 1"));
  CHECK(desk.lanes() == "0/1@1");
  CHECK(desk.database.value(
            "SELECT string_agg(ids::text, ' ') FROM seriatim.ledger WHERE rows > 0") == "{1}");
}

TEST_CASE(
    "a row put behind the barrier after a repartition halts a lane, and the audit proves the "
    "rest") {
  using Cuts = std::vector<unsigned>;  // g++ 14 warns of an assigned list, wrongly
  Cuts cuts;
  SUBCASE("more lanes") {
    cuts = Cuts{2, 3};
  }
  SUBCASE("fewer") {
    cuts = Cuts{3, 1};
  }
  SUBCASE("more, and as many as before again") {
    cuts = Cuts{2, 4, 2};
  }
  SUBCASE("fewer, and as many as before again") {
    cuts = Cuts{4, 2, 4};
  }
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    CAPTURE(order == OrderBy::id);
    Recuts desk(order, cuts);
    for (const auto& lane : desk.audit()) {
      CAPTURE(lane.lane);
      for (const auto& what : lane.mismatch_texts) MESSAGE(what);
      CHECK(lane.sound());
    }
    desk.put_back();
    const auto found = audited(desk.database, desk.target.source);
    REQUIRE(found);
    CHECK(found->row_id == "34");
    std::uint64_t late = 0;
    for (const auto& lane : desk.audit()) late += lane.late_rows;
    CHECK(late == 1);
    desk.admin.skip(desk.target, "34", alice);
    for (const auto& lane : desk.audit()) CHECK(lane.sound());
    CHECK_FALSE(audit_fully(desk.database, desk.target.source));
  }
}

TEST_CASE("buckets of before a repartition are proven by count and hash once they are sealed") {
  Recuts desk(OrderBy::created_at, {3, 2, 4});
  desk.database.run(
      "UPDATE seriatim.ledger SET hash = coalesce(hash, seriatim.ledger_hash(ids, ranges)), ids = "
      "NULL, ranges = NULL");
  const auto audits = desk.audit();
  CHECK(audits.size() == 4);
  std::uint64_t rows = 0;
  for (const auto& lane : audits) {
    CHECK(lane.sound());
    CHECK(lane.thinned == 0);
    CHECK(lane.ledger_start == 0);
    rows += lane.rows;
  }
  CHECK(rows == 183);
}

TEST_CASE("the same number, or several lanes without a key, are refused") {
  Keyed desk;
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  CHECK_THROWS_WITH(desk.cut(1), doctest::Contains("1 lanes already"));
  desk.target.source.key.clear();
  CHECK_THROWS_WITH(desk.cut(2), doctest::Contains("has no key"));
}

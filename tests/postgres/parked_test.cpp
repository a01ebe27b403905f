// Rows set aside by on_poison: parked, redriven, discarded, on a real server.
#include <algorithm>
#include <mutex>

#include "postgres/shop.hpp"

using namespace seriatim;
using namespace seriatim::postgres;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

const Ids six{"a", "a", "b", "a", "b", "a"};

}  // namespace

TEST_SUITE("parked rows") {
  TEST_CASE("a row that fails is parked, rows of its key queue behind it, other keys go on") {
    for (const auto order : {OrderBy::created_at, OrderBy::id}) {
      Shop shop(OnPoison::park_key, order);
      shop.book(six);
      shop.refused = {"2"};
      CHECK(shop.drain() == Ids{"1", "3", "5"});
      CHECK(shop.calls.size() == 4);
      CHECK(shop.parked() == Ids{"2", "4", "6"});
      CHECK(shop.cursor("position_id, sequence, state") == "6|6|running");
      CHECK(shop.audit_is_sound());
      CHECK(shop.why("2") == RowReport::State::parked);
      CHECK(shop.why("4") == RowReport::State::parked);
      CHECK(shop.why("3") == RowReport::State::delivered);

      shop.book({"b", "a"});
      CHECK(shop.drain() == Ids{"7"});
      CHECK(shop.parked() == Ids{"2", "4", "6", "8"});
      CHECK(shop.audit_is_sound());
    }
  }

  TEST_CASE(
      "redriven, the rows of a key go out in their order, late, with the lane's next numbers") {
    for (const auto order : {OrderBy::created_at, OrderBy::id}) {
      Shop shop(OnPoison::park_key, order);
      shop.book(six);
      shop.refused = {"2"};
      shop.drain();
      shop.refused.clear();
      shop.admin.redrive(shop.target, {"2", std::nullopt}, bob);
      CHECK(shop.journal("act, who, row_id, detail ->> 'rows'") == "redrive|bob@desk|2|3");
      shop.book({"a", "b"});
      CHECK(shop.drain() == Ids{"2", "4", "6", "7", "8"});
      CHECK(numbers(shop.calls) == std::vector<std::uint64_t>{7, 8, 9, 10, 11});
      CHECK(shop.calls[0].late);
      CHECK(shop.calls[0].previous_id == "6");
      CHECK_FALSE(shop.calls[3].late);
      CHECK(shop.parked().empty());
      CHECK(shop.why("2") == RowReport::State::delivered);
      CHECK(shop.audit_is_sound());
    }
  }

  TEST_CASE("a row that fails again stays parked, and the rows of its key with it") {
    Shop shop;
    shop.book(six);
    shop.refused = {"2"};
    shop.drain();
    shop.admin.redrive(shop.target, {"2", std::nullopt}, bob);
    shop.book({"b"});
    CHECK(shop.drain() == Ids{"7"});
    REQUIRE(shop.calls.size() == 2);
    CHECK(shop.calls[0].id() == "2");
    CHECK(shop.parked() == Ids{"2", "4", "6"});
    CHECK(shop.database.value("SELECT attempts FROM seriatim.parked WHERE row_id = '2'") == "2");
    CHECK(shop.database.value(
              "SELECT count(*) FROM seriatim.parked WHERE redrive_at IS NOT NULL") == "0");
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("a row that queues may fail too: the first ones of its key are gone then") {
    Shop shop;
    shop.book(six);
    shop.refused = {"2"};
    shop.drain();
    shop.refused = {"4"};
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain() == Ids{"2"});
    CHECK(shop.parked() == Ids{"4", "6"});
    const auto report = shop.admin.why(shop.target, "6");
    REQUIRE(report.parked);
    CHECK(report.parked->first_id == "4");
    CHECK(shop.admin.parked_count(shop.target).heads == 1);
  }

  TEST_CASE("a dead letter is set aside alone, and comes again when it is redriven") {
    Shop shop(OnPoison::dead_letter);
    shop.book(six);
    shop.refused = {"2", "5"};
    CHECK(shop.drain() == Ids{"1", "3", "4", "6"});
    CHECK(shop.parked() == Ids{"2", "5"});
    shop.refused.clear();
    shop.admin.redrive(shop.target, {"5", std::nullopt}, bob);
    CHECK(shop.drain() == Ids{"5"});
    CHECK(shop.parked() == Ids{"2"});
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("rows without a key are rows of one key") {
    Shop shop;
    shop.book({"", "", "b"});
    shop.refused = {"1"};
    CHECK(shop.drain() == Ids{"3"});
    CHECK(shop.parked() == Ids{"1", "2"});
    shop.refused.clear();
    shop.admin.redrive(shop.target, {"1", std::nullopt}, bob);
    CHECK(shop.drain() == Ids{"1", "2"});
  }

  TEST_CASE("a discarded row is set aside for good, and its queue waits to be redriven") {
    Shop shop;
    shop.book(six);
    shop.refused = {"2"};
    shop.drain();
    CHECK_THROWS_WITH(
        shop.admin.discard(shop.target, {"2", std::nullopt}, {"bob@desk", ""}),
        "discard needs a reason for the journal; nothing was discarded: --reason \"…\"");
    shop.admin.discard(shop.target, {"2", std::nullopt}, bob);
    CHECK(shop.journal("act, row_id, why") == "discard|2|fixed");
    CHECK(shop.why("2") == RowReport::State::set_aside);
    CHECK(shop.parked() == Ids{"4", "6"});
    shop.book({"a"});
    CHECK(shop.drain().empty());
    CHECK(shop.parked() == Ids{"4", "6", "7"});
    shop.admin.redrive(shop.target, {std::nullopt, "a"}, bob);
    CHECK(shop.drain() == Ids{"4", "6", "7"});
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("once all rows of a key are discarded its next rows go on") {
    Shop shop;
    shop.book(six);
    shop.refused = {"2"};
    shop.drain();
    shop.admin.discard(shop.target, {std::nullopt, "a"}, bob);
    CHECK(shop.parked().empty());
    shop.book({"a"});
    CHECK(shop.drain() == Ids{"7"});
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE(
      "what is not parked can be neither redriven nor discarded, and a parked row not skipped") {
    Shop shop;
    shop.book({"a"});
    shop.refused = {"1"};
    shop.drain();
    CHECK_THROWS_WITH(shop.admin.redrive(shop.target, {"9", std::nullopt}, bob),
                      "process \"process\" has not parked row 9; nothing was changed: seriatim "
                      "parked list process");
    CHECK_THROWS_WITH(
        shop.admin.discard(shop.target, {std::nullopt, "x"}, bob),
        "process \"process\" has not parked any row of key \"x\"; nothing was changed: "
        "seriatim parked list process");
    CHECK_THROWS_WITH(shop.admin.skip(shop.target, "1", bob),
                      "row 1 is parked, no lane is at it; nothing was changed: seriatim parked "
                      "discard --reason TEXT process 1, or seriatim parked redrive process 1");
  }

  TEST_CASE("a row that is gone from the table stays parked and says why") {
    Shop shop;
    shop.book({"a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.database.run("DELETE FROM bookings WHERE id = 1");
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain().empty());
    CHECK(shop.parked() == Ids{"1", "2"});
    CHECK(contains(shop.admin.why(shop.target, "1").parked->detail, "no longer in the table"));
    CHECK(shop.database.value(
              "SELECT count(*) FROM seriatim.parked WHERE redrive_at IS NOT NULL") == "0");
  }

  TEST_CASE(
      "a number that a receiver may have seen with another row is not given to a redriven one") {
    Shop shop;
    shop.book({"a"});
    shop.refused = {"1"};
    shop.drain();
    shop.book({"b", "b", "b"});
    auto first = shop.relay("first");
    first.config.commit_every = 3;
    first.session.reset();
    first.open();
    REQUIRE(first.claim());
    const auto three = first.poll();
    REQUIRE(three.records.size() == 3);
    REQUIRE(first.start());
    // All three were sent; the first was seen to be done, the process ends.
    REQUIRE(first.settle({first.cursor.position, {three.records[0].position}, {}, Rest{}}));
    first.session.reset();
    REQUIRE(shop.database.becomes_true("SELECT holder IS NULL FROM seriatim.lanes"));
    shop.admin.redrive(shop.target, {}, bob);

    auto next = shop.relay("next");
    REQUIRE(next.claim());
    CHECK(next.cursor.attempts == 0);
    CHECK(ids_of(next.poll()) == Ids{"3", "4"});
    CHECK(next.deliver() == Ids{"3", "4"});
    CHECK(next.deliver() == Ids{"1"});
  }

  TEST_CASE(
      "a row begun and then discarded keeps its number, and its crashes are not the next one's") {
    Shop shop;
    shop.book({"a"});
    shop.refused = {"1"};
    shop.drain();
    shop.admin.redrive(shop.target, {}, bob);
    auto lane = shop.relay();
    REQUIRE(lane.claim());
    CHECK(ids_of(lane.poll()) == Ids{"1"});
    REQUIRE(lane.start());
    CHECK(shop.cursor("sequence, attempts") == "1|1");
    lane.session.reset();
    shop.admin.discard(shop.target, {}, bob);
    CHECK(shop.cursor("sequence, attempts, set_aside") == "2|0|2");
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("a dead letter that fails again where keys are parked by now does not hold its key") {
    Shop shop(OnPoison::dead_letter);
    shop.book({"a", "a"});
    shop.refused = {"1"};
    CHECK(shop.drain() == Ids{"2"});
    shop.target.process.on_poison = OnPoison::park_key;
    shop.admin.redrive(shop.target, {}, bob);
    shop.book({"a"});
    CHECK(shop.drain() == Ids{"3"});
    CHECK(shop.parked() == Ids{"1"});
    shop.book({"a"});
    CHECK(shop.drain() == Ids{"4"});
  }

  TEST_CASE("a parked row that a person gave a new place keeps its turn") {
    Shop shop;
    shop.book({"a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.database.run("UPDATE bookings SET created_at = clock_timestamp() WHERE id = 1");
    shop.book({"b"});
    CHECK(shop.drain() == Ids{"3"});
    CHECK(shop.parked() == Ids{"1", "2"});
    shop.refused.clear();
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain() == Ids{"1", "2"});
  }

  TEST_CASE("an act on parked rows makes their holder read anew before it does anything else") {
    Shop shop;
    shop.book({"a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.book({"a"});
    auto lane = shop.relay();
    REQUIRE(lane.claim());
    const auto before = lane.poll();
    CHECK(before.records.empty());
    REQUIRE(before.queued.size() == 1);
    shop.admin.discard(shop.target, {}, bob);
    CHECK_FALSE(lane.start());
    REQUIRE(lane.claim());
    CHECK(ids_of(lane.poll()) == Ids{"3"});
  }

  TEST_CASE("a lane that is at a redriven row goes on once that is discarded") {
    Shop shop;
    shop.book({"a"});
    shop.refused = {"1"};
    shop.drain();
    shop.admin.redrive(shop.target, {}, bob);
    auto lane = shop.relay();
    REQUIRE(lane.claim());
    halt_at_next(lane);
    CHECK(shop.cursor("state, failed_id") == "halted|1");
    shop.admin.discard(shop.target, {"1", std::nullopt}, bob);
    CHECK(shop.cursor("state, failed_id") == "running");
    CHECK(shop.database.value("SELECT count(*) FROM seriatim.aside") == "0");
  }

  TEST_CASE("rewound, a process forgets the parked rows that come again") {
    for (const auto order : {OrderBy::created_at, OrderBy::id}) {
      Shop shop(OnPoison::park_key, order);
      shop.book({"b", "b", "a", "a"});
      shop.refused = {"1", "3"};
      shop.drain();
      CHECK(shop.parked() == Ids{"1", "2", "3", "4"});
      shop.refused = {};
      shop.admin.rewind(shop.target, {RewindPlace::Kind::row, "2"}, bob);
      CHECK(shop.parked() == Ids{"1"});
      CHECK(shop.drain() == Ids{"3", "4"});  // row 2 queues behind row 1 again
      CHECK(shop.parked() == Ids{"1", "2"});
      CHECK(shop.audit_is_sound());
      shop.admin.redrive(shop.target, {}, bob);
      CHECK(shop.drain() == Ids{"1", "2"});
      shop.admin.rewind(shop.target, {RewindPlace::Kind::start, ""}, bob);
      CHECK(shop.drain() == Ids{"1", "2", "3", "4"});
      CHECK(shop.audit_is_sound());
    }
  }

  TEST_CASE("a process under another name takes its parked rows along") {
    Shop shop;
    shop.book({"a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.target.process.name = "renamed";
    shop.admin.adopt(shop.target, "process", bob);
    CHECK(shop.parked() == Ids{"1", "2"});
    shop.refused.clear();
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain() == Ids{"1", "2"});
  }

  TEST_CASE("cut anew, parked rows go out by the lane that has their key then") {
    Shop shop;
    shop.book({"a", "b", "c", "d", "a", "b", "c", "d"});
    shop.refused = {"1", "2", "3", "4"};
    shop.drain();
    CHECK(shop.parked().size() == 8);
    shop.admin.repartition(shop.target, 3, bob, [](const std::string&) { return true; });
    shop.target.process.lanes = 3;
    shop.refused.clear();
    shop.admin.redrive(shop.target, {}, bob);
    shop.target.process.max_hold = milliseconds{1'000};
    std::set<unsigned> lanes;
    {
      std::mutex mutex;
      Relay relay({.drain = true});
      relay.add(shop.target.process, postgres_source(shop.database.url(), shop.target.source),
                handler_from([&](const Record& record) {
                  const std::scoped_lock guard(mutex);
                  lanes.insert(record.lane);
                  shop.accepted.push_back(record.id());
                  return Outcome::done();
                }));
      shop.accepted.clear();
      relay.run({});
    }
    CHECK(shop.accepted.size() == 8);
    CHECK(lanes.size() > 1);
    const auto place = [&](const char* id) {
      return std::find(shop.accepted.begin(), shop.accepted.end(), id);
    };
    CHECK(place("1") < place("5"));
    CHECK(place("2") < place("6"));
    CHECK(place("3") < place("7"));
    CHECK(place("4") < place("8"));
    CHECK(shop.parked().empty());
  }

  TEST_CASE("a late row of a parked key queues, and the cursor stays where it is") {
    Shop shop;
    shop.target.source.late_rows = OnLateRow::deliver;
    shop.book({"a", "b"});
    shop.refused = {"1"};
    shop.drain();
    shop.database.run(
        "INSERT INTO bookings (customer, payload, created_at) SELECT customer, '{}', created_at - "
        "interval '1 s' FROM bookings WHERE id IN (1, 2)");
    CHECK(shop.drain() == Ids{"4"});
    CHECK(shop.calls.at(0).late);
    CHECK(shop.parked() == Ids{"1", "3"});
    CHECK(shop.cursor("position_id, sequence") == "2|4");
    CHECK(shop.audit_is_sound());
    shop.refused = {};
    shop.admin.redrive(shop.target, {}, bob);
    shop.book({"a"});
    CHECK(shop.drain() == Ids{"1", "3", "5"});
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("a batch of many rows is set aside in its order, and counted where it is") {
    Shop shop;
    shop.target.process.commit_every = 50;
    Ids customers;
    for (int i = 0; i < 300; ++i) customers.emplace_back(i % 3 == 0 ? "a" : "b");
    shop.book(customers);
    shop.refused = {"1"};
    CHECK(shop.drain().size() == 200);
    Ids expected;
    for (int i = 1; i <= 300; i += 3) expected.push_back(std::to_string(i));
    CHECK(shop.parked() == expected);
    CHECK(shop.audit_is_sound());
    const auto count = shop.admin.parked_count(shop.target);
    CHECK(count.rows == 100);
    CHECK(count.heads == 1);
    CHECK(shop.admin.status(shop.target).at(0).parked.rows == 100);
    shop.refused.clear();
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain() == expected);
    CHECK(shop.audit_is_sound());
  }
}

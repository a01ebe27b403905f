// The next batch is read while one is in hand, and never anything a poll would not have brought.
#include "postgres/read_ahead.hpp"

#include <atomic>

#include "postgres/desk.hpp"
#include "seriatim/relay.hpp"

using namespace seriatim;
using namespace seriatim::postgres;
using namespace seriatim::testing;

namespace {

Round round_of(const std::string& id) {
  Round round;
  Record record;
  record.position = {1, id};
  round.records.push_back(record);
  return round;
}

const Position ten{1, "10"};

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

}  // namespace

TEST_SUITE("reading ahead") {
  TEST_CASE("what was begun for a place is taken for that place, once") {
    ReadAhead ahead(
        [] { return [](const Position& after, unsigned) { return round_of(after.id + "+"); }; });
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
    ReadAhead ahead([&] {
      return [&](const Position& after, unsigned) {
        go_on.wait(false);
        return round_of(after.id);
      };
    });
    ahead.begin(ten, 5);
    ahead.forget();
    go_on = true;
    go_on.notify_all();
    CHECK_FALSE(ahead.take(ten, 5));
  }

  TEST_CASE("a poll that fails, or brings no row, leaves nothing to take") {
    ReadAhead failing([]() -> ReadAhead::Poll { throw Error("too many connections"); });
    failing.begin(ten, 5);
    CHECK_FALSE(failing.take(ten, 5));
    failing.begin(ten, 5);  // and no second connection is asked for so soon
    CHECK_FALSE(failing.take(ten, 5));
    ReadAhead empty([] { return [](const Position&, unsigned) { return Round{}; }; });
    empty.begin(ten, 5);
    CHECK_FALSE(empty.take(ten, 5));
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

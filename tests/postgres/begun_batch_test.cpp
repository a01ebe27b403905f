// late_rows = "deliver": a batch that was begun goes on in its order, under its numbers.
#include <doctest/doctest.h>

#include "postgres/late_desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

TEST_CASE("rows of a batch in flight keep their numbers if one of them is deleted") {
  LateDesk desk;
  auto relay = desk.relay();
  relay.config.commit_every = 3;
  relay.open();
  REQUIRE(relay.claim());
  REQUIRE(relay.poll().records.size() == 3);
  REQUIRE(relay.start());  // a receiver may have seen all three
  const auto again = [&] {
    relay.session.reset();
    relay.open();
    REQUIRE(relay.claim());
  };
  again();
  SUBCASE("in the middle") {
    desk.database.run("DELETE FROM bookings WHERE id = 2");
    CHECK(relay.deliver() == Ids{"1"});
    CHECK_THROWS_AS(relay.poll(), SessionLost);
    again();
    CHECK(relay.cursor.sequence == 2);
    CHECK(relay.cursor.set_aside == 1);
  }
  SUBCASE("the first two") {
    desk.database.run("DELETE FROM bookings WHERE id < 3");
    CHECK_THROWS_AS(relay.poll(), SessionLost);
    again();
    CHECK_THROWS_AS(relay.poll(), SessionLost);
    again();
    CHECK(relay.cursor.set_aside == 2);
  }
  CHECK(relay.deliver() == Ids{"3"});
  CHECK(relay.cursor.sequence == 3);
  CHECK(desk.sound());
}

TEST_CASE("planned late rows come first again, in their order, and a deleted one is a hole") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  for (int id = 50; id < 53; ++id) desk.insert_at(id, std::to_string(60 - id) + " min");
  desk.target.source.lookback = 3'600'000ms;
  relay.source = postgres_source(desk.database.url(), desk.target.source);
  relay.open();
  REQUIRE(relay.claim());
  REQUIRE(ids_of(relay.poll()) == Ids{"50", "51", "52"});
  REQUIRE(relay.start());
  desk.insert_at(40, "20 min");
  desk.database.run("DELETE FROM bookings WHERE id = 51");
  CHECK(ids_and_late(relay.poll()) == Seen{{"50", true}});
  CHECK(relay.deliver() == Ids{"50"});
  CHECK(relay.deliver() == Ids{"52"});
  CHECK(relay.deliver() == Ids{"40"});
  CHECK(desk.sound());
}

TEST_CASE("a late row that was begun and is gone is journalled") {
  LateDesk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver().size() == 3);
  desk.insert_at(50, "1 min");
  REQUIRE(ids_of(relay.poll()) == Ids{"50"});
  REQUIRE(relay.start());
  desk.database.run("DELETE FROM bookings WHERE id = 50");
  CHECK_THROWS_AS(relay.poll(), SessionLost);  // so that its number stays unused
  CHECK(desk.planned().empty());
  CHECK(desk.database.value("SELECT concat_ws('|', act, row_id) FROM seriatim.journal ORDER BY id "
                            "DESC LIMIT 1") == "forget|50");
}

// Batches of redriven rows: their order and their numbers, on a real server.
#include "postgres/shop.hpp"

using namespace seriatim;
using namespace seriatim::postgres;
using namespace seriatim::testing;
using std::chrono::milliseconds;

TEST_SUITE("redriven batches") {
  TEST_CASE("a batch of redriven rows stops at the one that fails, and its key waits with it") {
    Shop shop;
    shop.book({"a", "a", "b", "a", "b"});
    shop.refused = {"1", "3"};
    shop.drain();
    REQUIRE(shop.parked() == Ids{"1", "2", "3", "4", "5"});
    shop.refused = {"2"};
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain() == Ids{"1", "3", "5"});
    CHECK(shop.parked() == Ids{"2", "4"});
    CHECK(shop.database.value("SELECT string_agg(concat_ws(' ', row_id, state, begun, head), ', ' "
                              "ORDER BY number) FROM seriatim.aside") ==
          "2 parked f t, 4 queued f f");
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("a redriven row that is gone holds up the rows of its key, not those before it") {
    Shop shop;
    shop.book({"a", "a", "a", "b"});
    shop.refused = {"1"};
    REQUIRE(shop.drain() == Ids{"4"});
    shop.refused = {};
    shop.database.run("DELETE FROM bookings WHERE id = 2");
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain() == Ids{"1"});
    CHECK(shop.parked() == Ids{"2", "3"});
    CHECK(shop.database.value("SELECT string_agg(concat_ws(' ', row_id, state, head), ', ' ORDER "
                              "BY number) FROM seriatim.aside") == "2 parked t, 3 queued f");
    CHECK(shop.database.value("SELECT detail FROM seriatim.parked WHERE row_id = '2'")
              .find("no longer in the table") != std::string::npos);
  }

  TEST_CASE("between two batches of redriven rows one of new rows goes out") {
    Shop shop;
    shop.target.process.batch_rows = 2;
    shop.book({"a", "a", "a", "a", "a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.refused = {};
    shop.book({"b", "b", "b"});
    shop.admin.redrive(shop.target, {}, bob);
    auto lane = shop.relay();
    REQUIRE(lane.claim());
    std::vector<Ids> batches;
    for (int i = 0; i < 5; ++i) batches.push_back(lane.deliver(2));
    CHECK(batches == std::vector<Ids>{{"1", "2"}, {"7", "8"}, {"3", "4"}, {"9"}, {"5", "6"}});
  }

  TEST_CASE(
      "a row of a batch that was begun is discarded: no number that was seen goes to another row") {
    Shop shop;
    shop.book({"a", "a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.refused.clear();
    shop.admin.redrive(shop.target, {}, bob);
    auto lane = shop.relay();
    REQUIRE(lane.claim());
    REQUIRE(ids_of(lane.poll()) == Ids{"1", "2", "3"});
    REQUIRE(lane.start());  // 1 may be handed over as 4
    REQUIRE(lane.settle({lane.cursor.position, {}, {}, Retry{{"1", "503"}, milliseconds{0}}}));
    lane.session.reset();
    SUBCASE("the last one") {
      shop.admin.discard(shop.target, {"3", std::nullopt}, bob);
      CHECK(shop.drain() == Ids{"1", "2"});
      CHECK(numbers(shop.calls) == std::vector<std::uint64_t>{5, 6});
    }
    SUBCASE("the first one, whose number a receiver may have seen") {
      shop.admin.discard(shop.target, {"1", std::nullopt}, bob);
      CHECK(shop.drain() == Ids{"2", "3"});
      CHECK(numbers(shop.calls) == std::vector<std::uint64_t>{5, 6});
    }
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("if late rows are delivered, a parked row given a new place still holds its key") {
    Shop shop;
    shop.target.source.late_rows = OnLateRow::deliver;
    shop.target.source.insert_latency = milliseconds{0};
    shop.book({"a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.database.run("UPDATE bookings SET created_at = clock_timestamp() WHERE id = 1");
    shop.book({"b"});
    CHECK(shop.drain() == Ids{"3"});
    CHECK(shop.admin.parked_count(shop.target).heads == 1);
    shop.book({"a"});
    CHECK(shop.drain().empty());
    CHECK(shop.parked() == Ids{"1", "2", "4"});
    shop.refused.clear();
    shop.admin.redrive(shop.target, {}, bob);
    CHECK(shop.drain() == Ids{"1", "2", "4"});
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("a batch that was begun keeps its order, though a dead letter got a new place in it") {
    Shop shop(OnPoison::dead_letter);
    shop.target.source.late_rows = OnLateRow::deliver;
    shop.target.source.insert_latency = milliseconds{0};
    shop.book({"a"});
    shop.refused = {"1"};
    shop.drain();
    shop.refused.clear();
    shop.book({"b"});
    shop.database.run("UPDATE bookings SET created_at = clock_timestamp() WHERE id = 1");
    shop.book({"c"});
    auto lane = shop.relay();
    REQUIRE(lane.claim());
    REQUIRE(ids_of(lane.poll()) == Ids{"2", "1", "3"});
    REQUIRE(lane.start());
    lane.session.reset();
    CHECK(shop.drain() == Ids{"2", "1", "3"});
  }

  TEST_CASE("a redriven row whose process ended in its call comes first again, under its number") {
    Shop shop;
    shop.book({"a", "a"});
    shop.refused = {"1"};
    shop.drain();
    shop.admin.redrive(shop.target, {}, bob);
    auto first = shop.relay("first");
    REQUIRE(first.claim());
    CHECK(ids_of(first.poll()) == Ids{"1", "2"});
    REQUIRE(first.start());
    const auto sequence = first.cursor.sequence;
    first.session.reset();
    shop.book({"b"});
    REQUIRE(shop.database.becomes_true("SELECT holder IS NULL FROM seriatim.lanes"));

    auto next = shop.relay("next");
    REQUIRE(next.claim());
    CHECK(next.cursor.attempts == 1);
    const auto again = next.session->poll(next.cursor.position, 100, false);
    CHECK(ids_of(again) == Ids{"1", "2"});
    CHECK(next.cursor.sequence == sequence);
    REQUIRE(next.advance(again));
    CHECK(next.deliver() == Ids{"3"});
    CHECK(shop.parked().empty());
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("while an attempt is open no parked row is begun") {
    Shop shop;
    shop.book({"a", "b"});
    shop.refused = {"1"};
    shop.drain();
    shop.admin.redrive(shop.target, {}, bob);
    shop.book({"b"});
    auto lane = shop.relay();
    REQUIRE(lane.claim());
    CHECK(ids_of(lane.session->poll(lane.cursor.position, 100, false)) == Ids{"3"});
    CHECK(ids_of(lane.session->poll(lane.cursor.position, 100, true)) == Ids{"1"});
  }
}

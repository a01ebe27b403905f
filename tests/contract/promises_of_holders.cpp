#include <thread>

#include "contract/source_promises.hpp"

namespace seriatim::testing {

using std::chrono::milliseconds;

namespace {

void one_holder_at_a_time(SourceUnderTest& source) {
  Relay first(source, "first");
  Relay second(source, "second");
  REQUIRE(first.claim());
  const auto answer = second.session->claim();
  CHECK_FALSE(answer.granted);
  CHECK(answer.holder == "first");
  REQUIRE(first.claim());
  CHECK(first.cursor.epoch == 1);
  first.session->release(first.cursor.epoch, false);
  REQUIRE(second.claim());
  CHECK(second.cursor.epoch == 2);
  CHECK(second.cursor.crashes == 0);
}

void a_replaced_holder_moves_nothing(SourceUnderTest& source) {
  source.append("a");
  Relay first(source, "first");
  REQUIRE(first.claim());
  const auto position = first.poll().records.at(0).position;
  first.session->release(first.cursor.epoch, false);
  Relay second(source, "second");
  REQUIRE(second.claim());
  CHECK_FALSE(first.start());
  CHECK_FALSE(first.settle({std::nullopt, {position}, {}, Rest{}}));
  CHECK_FALSE(first.settle({first.cursor.position, {}, {}, Retry{{"1", "x"}, milliseconds{1}}}));
  CHECK_FALSE(first.settle({first.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "x"}}}));
  first.session->release(1, true);
  CHECK_FALSE(first.claim());
  CHECK(second.session->read_cursor() == second.cursor);
}

void a_lost_session_frees_the_lane(SourceUnderTest& source) {
  source.append("a");
  Relay first(source, "first");
  first.claim();
  REQUIRE(first.start());
  source.drop_sessions();
  CHECK_THROWS_AS(first.session->read_cursor(), SessionLost);
  Relay second(source, "second");
  REQUIRE(second.claim());
  CHECK(second.cursor.epoch == 2);
  CHECK(second.cursor.crashes == 1);
  CHECK_FALSE(second.cursor.position.has_value());
  first.open();
  CHECK_FALSE(first.claim());
}

void a_death_before_a_start_is_no_crash(SourceUnderTest& source) {
  source.append("a");
  Relay first(source, "first");
  first.claim();
  REQUIRE(first.start());
  source.drop_sessions();
  Relay second(source, "second");
  REQUIRE(second.claim());
  REQUIRE(second.cursor.crashes == 1);
  CHECK(second.cursor.state == Cursor::State::retrying);
  CHECK(second.cursor.retry_in == milliseconds{0});
  source.drop_sessions();
  Relay third(source, "third");
  REQUIRE(third.claim());
  CHECK(third.cursor.crashes == 1);
  REQUIRE(third.start());
  source.drop_sessions();
  Relay fourth(source, "fourth");
  REQUIRE(fourth.claim());
  CHECK(fourth.cursor.crashes == 2);
  CHECK(fourth.deliver_one());
}

void a_relay_that_lost_its_session_goes_on(SourceUnderTest& source) {
  source.append("a");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  source.drop_sessions();
  CHECK_THROWS_AS(relay.poll(), SessionLost);
  relay.open();
  REQUIRE(relay.claim());
  CHECK(relay.cursor.epoch == 2);  // so that no late statement of the lost session counts
  CHECK(relay.cursor.crashes == 0);
  CHECK(relay.cursor.attempts == 1);
}

void a_sleeping_lane_is_woken(SourceUnderTest& source) {
  Relay relay(source, "relay");
  relay.claim();
  relay.waker.clear();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  CHECK_FALSE(relay.session->wait_until(now()));
  std::thread other([&] { relay.waker.wake(); });
  CHECK(relay.session->wait_until(now() + std::chrono::seconds(20)));
  other.join();
}

}  // namespace

const std::vector<Promise>& promises_of_holders() {
  static const std::vector<Promise> promises{
      {"one holder at a time, and release hands over", one_holder_at_a_time},
      {"a replaced holder moves nothing", a_replaced_holder_moves_nothing},
      {"a lost session frees the lane and counts as a crash", a_lost_session_frees_the_lane},
      {"a holder that dies before it starts an attempt counts no crash",
       a_death_before_a_start_is_no_crash},
      {"a relay that lost its session goes on where it was", a_relay_that_lost_its_session_goes_on},
      {"a sleeping lane is woken", a_sleeping_lane_is_woken},
  };
  return promises;
}

}  // namespace seriatim::testing

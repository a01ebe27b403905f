// The move of a call that is still to be made: when it is told, and when it is the one that is
// made.
#include "core/lane_story.hpp"

using namespace seriatim;
using namespace seriatim::core;
using namespace seriatim::core::testing;

namespace {

ProcessConfig rows_a_call(unsigned rows) {
  auto config = Story::quick();
  config.commit_every = rows;
  return config;
}

std::vector<std::string> ids(const std::vector<Position>& positions) {
  std::vector<std::string> ids;
  for (const auto& position : positions) ids.push_back(position.id);
  return ids;
}

Called sent(Called called) {
  called.sent = true;
  return called;
}

/// The rows are about to be called, and behind them one queues.
void calls_before_queued(Story& story, const std::vector<std::string>& rows,
                         const std::string& queued) {
  auto round = Story::round(rows);
  round.queued.push_back({{1'000, queued}, "k", rows.size()});
  story.tell(Polled{std::move(round)});
  story.tell(Started{});
  story.tell(Locked{});
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_SUITE("lane, foresight") {
  TEST_CASE("a call of several rows comes with the move over all of them") {
    Story story(rows_a_call(2));
    story.calling({"7", "8", "9"});
    const auto* foreseen = story.expect<CallHandler>().foreseen;
    REQUIRE(foreseen);
    CHECK(ids(foreseen->done) == Ids{"7", "8"});
    CHECK_FALSE(foreseen->from);
    CHECK(foreseen->next_started());
    story.tell(sent(done(2)));
    const auto& made = story.expect<Settle>().settlement;
    CHECK(made.sent);
    CHECK(made.goes_on);
    CHECK(ids(made.done) == Ids{"7", "8"});
    CHECK(made.next_started());
    story.tell(Settled{});
    story.tell(Locked{});
    CHECK(story.expect<CallHandler>().records[0].id() == "9");
  }

  TEST_CASE("the move of the next call comes with the advance whose lock it shares") {
    Story story(rows_a_call(1));
    story.calling({"7", "8", "9"});
    CHECK_FALSE(story.expect<CallHandler>().foreseen);  // one row is not worth a message
    story.tell(done(1));
    const auto* next = story.expect<Settle>().settlement.next;
    REQUIRE(next);
    CHECK(next->from->id == "7");
    CHECK(ids(next->done) == Ids{"8"});
    CHECK(next->next_started());
    story.tell(Settled{});
    story.tell(Locked{});
    const auto* foreseen = story.expect<CallHandler>().foreseen;
    REQUIRE(foreseen);
    CHECK(ids(foreseen->done) == Ids{"8"});
    story.tell(sent(done(1)));
    CHECK(story.expect<Settle>().settlement.sent);
    const auto* last = story.expect<Settle>().settlement.next;
    REQUIRE(last);
    CHECK(ids(last->done) == Ids{"9"});
    CHECK_FALSE(last->next_started());
  }

  TEST_CASE("no next move is told where the lock is asked for alone") {
    Story story(rows_a_call(1));
    story.calling({"7", "8"});
    story.pass(Lane::lock_ahead_max);
    story.tell(done(1));
    CHECK_FALSE(story.expect<Settle>().settlement.goes_on);
    CHECK_FALSE(story.expect<Settle>().settlement.next);
  }

  TEST_CASE("what was not done whole is moved over as it was, not as foreseen") {
    for (const auto& called : {done(2), failed(Outcome::poison("400"), 2)}) {
      Story story(rows_a_call(3));
      story.calling({"7", "8", "9"});
      REQUIRE(story.expect<CallHandler>().foreseen);
      story.tell(sent(called));
      const auto& made = story.expect<Settle>().settlement;
      CHECK_FALSE(made.sent);
      CHECK(ids(made.done) == Ids{"7", "8"});
      CHECK(made.next_started() == !called.outcome.next);
      CHECK_FALSE(made.starts_next);
    }
  }

  TEST_CASE("a lane that is to be left meanwhile starts no further row") {
    Story story(rows_a_call(2));
    story.calling({"7", "8", "9"});
    REQUIRE(story.expect<CallHandler>().foreseen->next_started());
    story.ask_to_stop();
    story.tell(sent(done(2)));
    CHECK_FALSE(story.expect<Settle>().settlement.sent);
    CHECK_FALSE(story.expect<Settle>().settlement.next_started());
  }

  TEST_CASE(
      "the round that is read meanwhile is foreseen to start, if the session says it is there") {
    auto config = rows_a_call(2);
    config.read_ahead = true;
    config.batch_rows = 2;
    for (const bool read : {true, false}) {
      Story story(config);
      story.calling({"7", "8"});
      REQUIRE(story.expect<CallHandler>().foreseen);
      CHECK(story.expect<CallHandler>().foreseen->starts_next);
      story.tell(Called{{2, std::nullopt}, read, true});
      CHECK(story.expect<Settle>().settlement.sent == read);
      CHECK(story.expect<Settle>().settlement.starts_next == read);
      CHECK_FALSE(story.expect<Settle>().settlement.next);
    }
  }

  TEST_CASE(
      "what was sent for a call that came to be the last before the lease is renewed differs") {
    Story story(rows_a_call(1));
    story.calling({"7", "8", "9"});
    story.tell(done(1));
    REQUIRE(story.expect<Settle>().settlement.next->next_started());
    story.tell(Settled{});
    story.pass(Story::quick().lease / 3);
    story.tell(Locked{});
    CHECK_FALSE(story.expect<CallHandler>().foreseen);
    story.tell(done(1));
    CHECK_FALSE(story.expect<Settle>().settlement.next_started());
  }

  TEST_CASE("a move whose lease is that of a long call's beginning is not made") {
    Story story(rows_a_call(2));
    story.calling({"7", "8"});
    REQUIRE(story.expect<CallHandler>().foreseen);
    story.pass(Story::quick().lease / 3);
    story.tell(sent(done(2)));
    CHECK_FALSE(story.expect<Settle>().settlement.sent);
  }

  TEST_CASE("of a row that failed before nothing is foreseen") {
    Story story(rows_a_call(2));
    Cursor cursor;
    cursor.attempts = 1;
    cursor.state = Cursor::State::retrying;
    story.calling({"7", "8"}, cursor);
    CHECK(story.expect<CallHandler>().records[0].attempt == 2);
    CHECK_FALSE(story.expect<CallHandler>().foreseen);
  }

  TEST_CASE("nor where rows queue behind a parked one, which are set aside with the move") {
    Story story(rows_a_call(2));
    story.claimed({});
    calls_before_queued(story, {"7", "8"}, "9");
    CHECK_FALSE(story.expect<CallHandler>().foreseen);
    story.tell(done(2));
    story.tell(Settled{});
  }

  TEST_CASE("a move that was sent and not made does not linger") {
    Story story(rows_a_call(2));
    story.calling({"7", "8", "9"});
    story.tell(sent(failed(Outcome::retry_later("503"))));
    story.settled<Retry>();
    story.tell(Settled{});
    story.pass(story.wait());
    story.tell(Woken{});
    Cursor cursor;
    cursor.epoch = cursor.attempts = 1;
    story.tell(Looked{cursor});
    story.expect<PollSource>();
    calls_before_queued(story, {"7"}, "8");
    CHECK_FALSE(story.expect<CallHandler>().foreseen);
    story.tell(done(1));
    CHECK_FALSE(story.expect<Settle>().settlement.sent);
  }

  TEST_CASE("the poll that comes after a move is told with it") {
    const auto polls = [](Story& story, const Called& called) {
      story.tell(called);
      return story.expect<Settle>().settlement.polls_next;
    };
    Story story(rows_a_call(1));
    story.calling({"7", "8"});
    CHECK_FALSE(polls(story, done(1)));
    story.tell(Settled{});
    story.tell(Locked{});
    SUBCASE("after the last row of a round") {
      CHECK(polls(story, done(1)));
      story.tell(Settled{});
      story.expect<PollSource>();
    }
    SUBCASE("also where the move was sent ahead") {
      CHECK(polls(story, sent(done(1))));
    }
    SUBCASE("not where the lease is renewed first") {
      story.pass(Story::quick().lease / 3);
      CHECK_FALSE(polls(story, sent(done(1))));
      story.tell(Settled{});
      story.expect<ClaimLane>();
    }
    SUBCASE("not where the lane is left") {
      story.ask_to_stop();
      CHECK_FALSE(polls(story, sent(done(1))));
    }
  }
}

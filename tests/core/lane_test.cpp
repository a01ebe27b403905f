// Each test is a story: an event, the action it must lead to, and why.
#include "core/lane_story.hpp"

using namespace seriatim;
using namespace seriatim::core;
using namespace seriatim::core::testing;
using namespace std::chrono_literals;

TEST_SUITE("lane: the way of a row") {
  TEST_CASE("a row is started durably, called, and only then is the cursor moved") {
    Story story;
    story.calling({"7"});

    const auto& call = story.expect<CallHandler>();
    REQUIRE(call.records.size() == 1);
    CHECK(call.records[0].id() == "7");
    CHECK(call.records[0].sequence == 1);
    CHECK(call.records[0].epoch == 1);
    CHECK(call.records[0].attempt == 1);
    CHECK_FALSE(call.records[0].previous_id);

    story.feed(done(1));
    const auto& advance = story.expect<Settle>().settlement;
    CHECK_FALSE(advance.from);
    CHECK(advance.done.back().id == "7");
    CHECK_FALSE(advance.announces());

    story.feed(Settled{});
    CHECK(story.expect<PollSource>().after->id == "7");
    CHECK(story.status().sequence == 1);
  }

  TEST_CASE("with commit_every = 1 every row has its own commit, which announces the next call") {
    Story story;
    story.calling({"7", "8"});
    story.feed(done(1));
    CHECK(story.expect<Settle>().settlement.announces());
    story.feed(Settled{});
    const auto& second = story.expect<CallHandler>().records;
    CHECK(second[0].sequence == 2);
    CHECK(second[0].previous_id == "7");
  }

  TEST_CASE("with a larger commit_every the confirmed prefix is committed at once") {
    auto config = Story::quick();
    config.commit_every = 3;
    Story story(config);
    story.calling({"1", "2", "3", "4"});
    CHECK(story.expect<CallHandler>().records.size() == 3);
    story.feed(done(2));  // the handler yielded after two
    CHECK(story.expect<Settle>().settlement.done.size() == 2);
    story.feed(Settled{});
    CHECK(story.expect<CallHandler>().records.size() == 2);
    CHECK(story.expect<CallHandler>().records[0].id() == "3");
  }

  TEST_CASE("a late row counts and is committed, but moves no position and is nobody's previous") {
    auto config = Story::quick();
    config.commit_every = 2;
    Story story(config);
    Cursor cursor;
    cursor.position = Position{1'000, "7"};
    cursor.sequence = 7;
    story.claimed(cursor);
    auto round = Story::round({"3", "4", "8"});
    round.records[0].late = round.records[1].late = true;
    story.feed(Polled{round});
    story.feed(Started{});
    const auto& late = story.expect<CallHandler>().records;
    CHECK(late[0].previous_id == "7");
    CHECK(late[1].previous_id == "7");
    CHECK(late[1].sequence == 9);
    story.feed(done(2));
    story.feed(Settled{});
    CHECK(story.status().position->id == "7");
    CHECK(story.status().sequence == 9);
    CHECK(story.expect<CallHandler>().records[0].previous_id == "7");
    CHECK(story.expect<CallHandler>().records[0].sequence == 10);
    story.feed(done(1));
    story.feed(Settled{});
    CHECK(story.expect<PollSource>().after->id == "8");
  }

  TEST_CASE("sequence and previous id go on from the cursor") {
    Story story;
    story.calling({"8"}, Cursor{.position = Position{900, "7"}, .sequence = 41});
    CHECK(story.expect<CallHandler>().records[0].sequence == 42);
    CHECK(story.expect<CallHandler>().records[0].previous_id == "7");
  }
}

TEST_SUITE("lane: failures") {
  TEST_CASE("a row is retried before any later row, with the same sequence and one attempt more") {
    Story story;
    story.calling({"7", "8"});
    story.feed(failed(Outcome::retry_later("HTTP 500")));
    const auto& note = story.settled<Retry>();
    CHECK(note.failure.row_id == "7");
    CHECK(note.delay == 250ms);  // half of the first ceiling of 500 ms
    story.feed(Settled{});
    CHECK(story.wait() == 250ms);
    CHECK(story.status().state == LaneState::retrying);
    CHECK(story.status().detail == "HTTP 500");

    story.pass(250ms);
    story.feed(Woken{});
    story.expect<ReadCursor>();
    story.feed(CursorRead{{.epoch = 1, .state = Cursor::State::retrying, .attempts = 1}});
    story.expect<PollSource>();
    story.feed(Polled{Story::round({"7", "8"})});
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().records[0].id() == "7");
    CHECK(story.expect<CallHandler>().records[0].sequence == 1);
    CHECK(story.expect<CallHandler>().records[0].attempt == 2);
  }

  TEST_CASE("what was done before the failure is committed with it") {
    auto config = Story::quick();
    config.commit_every = 10;
    Story story(config);
    story.calling({"1", "2", "3"});
    story.feed(failed(Outcome::poison("HTTP 422"), 1));
    CHECK(story.expect<Settle>().settlement.done.back().id == "1");
    CHECK(story.settled<Halt>().reason == HaltReason::poison);
    CHECK(story.settled<Halt>().failure.row_id == "2");
    story.feed(Settled{});
    CHECK(story.status().sequence == 1);
    CHECK(story.status().attempts == 1);
    CHECK(story.status().state == LaneState::halted);
  }

  TEST_CASE("poison halts, and the lane then only checks for an operator") {
    Story story;
    story.calling({"7"});
    story.feed(failed(Outcome::poison("HTTP 422")));
    story.settled<Halt>();
    story.feed(Settled{});
    CHECK(story.wait() == Lane::operator_interval);
    CHECK(story.status().state == LaneState::halted);
    CHECK(story.status().reason == HaltReason::poison);
    CHECK(story.status().row_id == "7");
    story.pass(1s);
    story.feed(Woken{});
    story.expect<ReadCursor>();
    story.feed(CursorRead{{.epoch = 1, .state = Cursor::State::running, .attempts = 1}});
    story.expect<PollSource>();
  }

  TEST_CASE("an unknown outcome is retried, or halts where the configuration says so") {
    SUBCASE("retry") {
      Story story;
      story.calling({"7"});
      story.feed(failed(Outcome::unknown("reset")));
      story.settled<Retry>();
    }
    SUBCASE("halt") {
      auto config = Story::quick();
      config.on_unknown = OnUnknown::halt;
      Story story(config);
      story.calling({"7"});
      story.feed(failed(Outcome::unknown("reset")));
      CHECK(story.settled<Halt>().reason == HaltReason::unknown_outcome);
    }
    SUBCASE("halt, because the handler says so") {
      auto config = Story::quick();
      config.max_attempts = 1;
      config.on_poison = OnPoison::park_key;
      Story story(config);
      story.calling({"7"});
      story.feed(failed(Outcome::unknown_and_halt("garbage")));
      CHECK(story.settled<Halt>().reason == HaltReason::unknown_outcome);
      CHECK(story.settled<Halt>().failure.detail == "garbage");
    }
  }

  TEST_CASE("max_attempts turns a failing row into poison, and counts across restarts") {
    auto config = Story::quick();
    config.max_attempts = 3;
    Story story(config);
    story.calling({"7"}, Cursor{.attempts = 2});
    CHECK(story.expect<CallHandler>().records[0].attempt == 3);
    story.feed(failed(Outcome::retry_later("HTTP 500")));
    CHECK(story.settled<Halt>().reason == HaltReason::poison);
    CHECK(story.settled<Halt>().failure.detail == "given up after 3 attempts: HTTP 500");
  }

  TEST_CASE("a row that kills the process is found, alone, and halts") {
    Story story;
    story.claimed({.attempts = 3, .crashes = 3});
    CHECK(story.expect<PollSource>().rows_max == 1);
    story.feed(Polled{Story::round({"7"})});
    CHECK(story.settled<Halt>().reason == HaltReason::crashes);
    CHECK(story.settled<Halt>().failure.row_id == "7");
  }

  TEST_CASE("after one unclean end rows go one by one, so that the guilty one is known") {
    auto config = Story::quick();
    config.commit_every = config.batch_rows = 2;
    Story story(config);
    story.calling({"7"}, Cursor{.attempts = 1, .crashes = 1});
    story.feed(done(1));
    story.feed(Settled{});
    CHECK(story.expect<PollSource>().rows_max == 1);
    story.feed(Polled{Story::round({"8"})});
    story.feed(Started{});
    story.feed(done(1));
    story.feed(Settled{});
    CHECK(story.expect<PollSource>().rows_max == 2);
  }

  TEST_CASE("a row that cannot be read halts once it is reached, not before") {
    Story story;
    story.claimed({});
    auto round = Story::round({"7"});
    round.unreadable = PollResult::Unreadable{"8", HaltReason::bad_payload, "too large"};
    story.feed(Polled{round});
    story.feed(Started{});
    story.feed(done(1));
    story.feed(Settled{});
    story.expect<PollSource>();
    PollResult rest;
    rest.unreadable = round.unreadable;
    story.feed(Polled{rest});
    CHECK(story.settled<Halt>().reason == HaltReason::bad_payload);
    CHECK(story.settled<Halt>().failure.row_id == "8");
  }
}

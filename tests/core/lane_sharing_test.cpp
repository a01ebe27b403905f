// A lane that this instance is to leave to others. Each test is a story: an event, the action it
// must lead to, and why.
#include "core/lane_story.hpp"

using namespace seriatim;
using namespace seriatim::core;
using namespace seriatim::core::testing;
using namespace std::chrono_literals;

namespace {

/// Given up, and neither a session nor a statement until it is wanted again.
void given_up(Story& story, bool untouched) {
  CHECK(story.expect<ReleaseLane>().untouched == untouched);
  story.feed(Released{});
  story.expect<CloseSession>();
  story.feed(Closed{});
  CHECK(story.wait() == ProcessConfig{}.lease);
  CHECK(story.status().state == LaneState::standby);
  story.pass(1h);
  story.feed(Woken{});
  story.expect<WaitUntil>();
}

}  // namespace

TEST_SUITE("lane: left to other instances") {
  TEST_CASE("a lane that is not wanted opens no session until it is") {
    Story story;
    story.want(false);
    story.feed(Begin{});
    story.expect<WaitUntil>();
    story.feed(Woken{});
    story.expect<WaitUntil>();
    story.want(true);
    story.feed(Woken{});
    story.expect<OpenSession>();
    story.feed(Opened{});
    story.expect<ClaimLane>();
  }

  TEST_CASE("in the middle of a batch it is given up once what was delivered is committed") {
    Story story;
    story.calling({"1", "2", "3"});
    story.want(false);
    story.feed(done(1));
    CHECK_FALSE(story.expect<Settle>().settlement.announces());
    story.feed(Settled{});
    given_up(story, false);
  }

  TEST_CASE("a row counted and not called is taken off the count") {
    Story story;
    story.claimed({});
    story.feed(Polled{Story::round({"1"})});
    story.want(false);
    story.feed(Started{});
    given_up(story, true);
  }

  TEST_CASE("a failure is written down first, and waits its time with the next holder") {
    Story story;
    story.calling({"1", "2"});
    story.want(false);
    story.feed(failed(Outcome::retry_later("HTTP 503")));
    story.settled<Retry>();
    story.feed(Settled{});
    given_up(story, false);
  }

  TEST_CASE("poison halts it first; halted, it is as good with another") {
    Story story;
    story.calling({"1"});
    story.want(false);
    story.feed(failed(Outcome::poison("HTTP 422")));
    story.settled<Halt>();
    story.feed(Settled{});
    given_up(story, false);
  }

  TEST_CASE("idle, halted and paused lanes are given up when they are woken") {
    Story story;
    SUBCASE("idle") {
      story.claimed({});
      story.feed(Polled{});
    }
    SUBCASE("halted") {
      story.claimed({.state = Cursor::State::halted});
    }
    SUBCASE("paused") {
      story.claimed({.state = Cursor::State::paused});
    }
    SUBCASE("retrying") {
      story.claimed({.state = Cursor::State::retrying, .retry_in = 1h});
    }
    story.want(false);
    story.feed(Woken{});
    given_up(story, false);
  }

  TEST_CASE("one that was standing by leaves without a release") {
    Story story;
    story.feed(Begin{});
    story.feed(Opened{});
    story.feed(Claimed{{false, {}, "other"}});
    story.want(false);
    story.feed(Woken{});
    story.expect<CloseSession>();
  }

  TEST_CASE("a session lost on the way leaves nothing to be done") {
    Story story;
    story.calling({"1"});
    story.want(false);
    story.feed(SessionEnded{"gone"});
    story.expect<WaitUntil>();
    CHECK(story.status().state == LaneState::standby);
  }

  TEST_CASE("wanted again before it was let go, it is let go and claimed anew") {
    Story story;
    story.calling({"1"});
    story.want(false);
    story.feed(done(1));
    story.feed(Settled{});
    story.expect<ReleaseLane>();
    story.want(true);
    story.feed(Released{});
    story.expect<CloseSession>();
    story.feed(Closed{});
    story.expect<OpenSession>();
    story.feed(Opened{});
    story.expect<ClaimLane>();
    story.feed(
        Claimed{{true, {.position = Position{1'000, "1"}, .sequence = 1, .epoch = 3}, "us"}});
    CHECK(story.expect<PollSource>().after->id == "1");
  }

  TEST_CASE("asked to stop while it waits aside, it ends") {
    Story story;
    story.want(false);
    story.feed(Begin{});
    story.ask_to_stop();
    story.feed(Woken{});
    story.expect<Finish>();
    CHECK(story.status().state == LaneState::stopped);
  }

  TEST_CASE("asked to stop while it is let go, it ends once it is") {
    Story story;
    story.calling({"1"});
    story.want(false);
    story.feed(done(1));
    story.feed(Settled{});
    story.expect<ReleaseLane>();
    story.ask_to_stop();
    story.feed(Released{});
    story.expect<Finish>();
  }
}

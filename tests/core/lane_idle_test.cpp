// A lane with nothing to do: its lease, and what is new in its row.
#include "core/lane_story.hpp"

using namespace seriatim;
using namespace seriatim::core;
using namespace seriatim::core::testing;
using namespace std::chrono_literals;

TEST_SUITE("lane: idle") {
  TEST_CASE("the lease is renewed while there is nothing to do") {
    Story story;
    story.claimed({});
    const auto renew = ProcessConfig{}.lease / 3;
    story.pass(renew);
    story.feed(Polled{});
    story.expect<WaitUntil>();
    story.feed(Woken{});
    story.expect<ClaimLane>();
  }

  TEST_CASE("a renewal asks for no poll, but a hint that came with it does") {
    for (const bool hinted : {false, true}) {
      Story story(Story::quick(), {.drain = false, .hints = true});
      story.claimed({});
      const auto renewal = story.now() + ProcessConfig{}.lease / 3;
      for (;;) {
        story.feed(Polled{});
        if (story.now() + story.wait() >= renewal) break;
        story.pass(story.wait());
        story.feed(Woken{});
        story.expect<PollSource>();
      }
      story.pass(story.wait());
      story.feed(Woken{hinted});
      story.expect<ClaimLane>();
      story.feed(Claimed{{true, {.epoch = 1}, "us"}});
      CAPTURE(hinted);
      CHECK(std::holds_alternative<PollSource>(story.action()) == hinted);
      if (!hinted) CHECK(story.wait() < ProcessConfig{}.lease / 3);
    }
  }

  TEST_CASE("what is new in the row is followed at a renewal") {
    for (const Cursor& changed :
         {Cursor{.epoch = 2}, Cursor{.epoch = 1, .state = Cursor::State::paused}}) {
      Story story;
      story.claimed({});
      story.pass(ProcessConfig{}.lease / 3 - 1ms);
      story.feed(Polled{});
      story.pass(story.wait());
      story.feed(Woken{});
      story.expect<ClaimLane>();
      story.feed(Claimed{{true, changed, "us"}});
      CHECK(std::holds_alternative<PollSource>(story.action()) ==
            (changed.state == Cursor::State::running));
      CHECK(story.status().state == (changed.epoch == 2 ? LaneState::idle : LaneState::paused));
    }
  }
}

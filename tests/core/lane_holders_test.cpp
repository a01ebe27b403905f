// Holding the lane, waiting and leaving. Each test is a story: an event, the action it must lead
// to, and why.
#include <algorithm>

#include "core/lane_story.hpp"

using namespace seriatim;
using namespace seriatim::core;
using namespace seriatim::core::testing;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

TEST_SUITE("lane: holders") {
  TEST_CASE("a lane held by another is left alone and checked again") {
    Story story;
    story.feed(Begin{});
    story.feed(Opened{});
    story.feed(Claimed{{false, {}, "other"}});
    CHECK(story.wait() == ProcessConfig{}.standby_interval);
    CHECK(story.status().state == LaneState::standby);
    CHECK(story.status().detail == "held by other");
    story.pass(1s);
    story.feed(Woken{});
    story.expect<ClaimLane>();
  }

  TEST_CASE("a holder that was replaced says by whom, and from which epoch to which") {
    Story story;
    story.calling({"7"}, Cursor{.epoch = 7});
    story.feed(done(1));
    story.feed(Settled{Grant::lost});
    story.feed(Woken{});
    story.expect<ClaimLane>();
    story.feed(Claimed{{false, {.epoch = 8}, "other"}});
    CHECK(story.status().state == LaneState::standby);
    CHECK(story.status().detail == "fenced: other took over (epoch 7 → 8)");
    story.feed(Woken{});
    story.feed(Claimed{{true, {.epoch = 9}, "us"}});  // ours again
    story.feed(SessionEnded{"gone"});
    story.pass(1h);
    story.feed(Woken{});
    story.feed(Opened{});
    story.feed(Claimed{{false, {.epoch = 9}, "us, said the row"}});
    CHECK(story.status().detail == "held by us, said the row");
  }

  TEST_CASE("nothing is called when the durable start or the settlement is refused") {
    Story story;
    story.claimed({});
    story.feed(Polled{Story::round({"7"})});
    SUBCASE("start refused") {
      story.feed(Started{Grant::lost});
    }
    SUBCASE("advance refused: another may have called since") {
      story.feed(Started{});
      story.feed(done(1));
      story.feed(Settled{Grant::lost});
    }
    CHECK(story.wait() == Lane::refused_pause);
    story.pass(5ms);
    story.feed(Woken{});
    story.expect<ClaimLane>();
  }

  TEST_CASE(
      "an attempt that was counted and not made is not counted again while the lane is ours") {
    Story story;
    story.claimed({});
    story.feed(Polled{Story::round({"7", "8"})});
    CHECK_FALSE(story.expect<StartBatch>().again);
    Cursor now{.epoch = 1, .attempts = 1};
    SUBCASE("the session was lost before the call") {
      story.feed(Started{});
      story.feed(SessionEnded{"the connection ended before the call began"});
    }
    SUBCASE("the answer to the start was lost, and the start was not") {
      story.feed(SessionEnded{"no answer to COMMIT"});
    }
    SUBCASE("the answer to an advance was lost, and the next row counted by it") {
      story.feed(Started{});
      story.feed(done(1));
      CHECK(story.expect<Settle>().settlement.announces());
      story.feed(SessionEnded{"no answer to COMMIT"});
      now.position = Position{1'000, "7"};
      now.sequence = 1;
    }
    story.claimed_again(now);
    story.feed(Polled{Story::round({"8"})});
    CHECK(story.expect<StartBatch>().again);
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().records[0].attempt == 1);
    story.feed(failed(Outcome::retry_later("HTTP 503")));
    story.feed(Settled{});
    CHECK(story.status().attempts == 1);
    story.pass(1h);
    story.feed(Woken{});
    story.expect<ClaimLane>();
    now.epoch = 2;
    now.state = Cursor::State::retrying;
    story.feed(Claimed{{true, now, "us"}});
    story.feed(Polled{Story::round({"8"})});
    CHECK_FALSE(story.expect<StartBatch>().again);  // this one was made
  }

  TEST_CASE("an attempt that may have been made is counted") {
    Story story;
    story.claimed({});
    story.feed(Polled{Story::round({"7", "8"})});
    story.feed(Started{});
    SUBCASE("another held the lane since") {
      story.feed(SessionEnded{"the connection ended before the call began"});
      story.claimed_again({.epoch = 3, .attempts = 1});
    }
    SUBCASE("a start since did not count it") {
      story.feed(SessionEnded{"the connection ended before the call began"});
      story.claimed_again({.epoch = 1, .attempts = 2});
    }
    SUBCASE("the call was made and its advance lost") {
      story.feed(done(1));
      CHECK(story.expect<Settle>().settlement.announces());
      story.feed(SessionEnded{"no answer to COMMIT"});
      story.claimed_again({.epoch = 1, .attempts = 1});
    }
    SUBCASE("the call was made and its advance refused") {
      story.feed(done(1));
      story.feed(Settled{Grant::lost});
      story.claimed_again({.epoch = 1, .attempts = 1});
    }
    story.feed(Polled{Story::round({"7"})});
    CHECK_FALSE(story.expect<StartBatch>().again);
  }

  TEST_CASE("a start that was refused has counted nothing") {
    Story story;
    story.claimed({});
    story.feed(Polled{Story::round({"7"})});
    story.feed(Started{Grant::lost});
    story.claimed_again({.epoch = 1, .attempts = 1});  // as before our start
    story.feed(Polled{Story::round({"7"})});
    CHECK_FALSE(story.expect<StartBatch>().again);
  }

  TEST_CASE("a call not begun in time is not begun, but announced anew and not counted again") {
    Story story;
    story.calling({"7"});
    CHECK(story.expect<CallHandler>().not_after == story.now() + Lane::call_begin_max);
    story.pass(1h);
    story.feed(CallExpired{});
    CHECK(story.expect<StartBatch>().again);
    CHECK(story.status().detail.find("no call was begun") == 0);  // it may be so for long
  }

  TEST_CASE("the time to begin a call runs from sending its announcement, not from the answer") {
    Story story;
    story.claimed({});
    story.feed(Polled{Story::round({"7", "8"})});
    const auto sent = story.now();
    story.pass(2s);  // frozen, the answer waiting: the lease runs from the server's own clock
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().not_after == sent + Lane::call_begin_max);
    story.feed(CallExpired{});  // each announcement has a time of its own
    const auto sent_again = story.now();
    story.pass(1s);
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().not_after == sent_again + Lane::call_begin_max);
    story.feed(done(1));
    const auto settled = story.now();
    story.pass(1s);
    story.feed(Settled{});
    CHECK(story.expect<CallHandler>().not_after == settled + Lane::call_begin_max);
  }

  TEST_CASE("rows that are announced anew in the midst of a batch keep their numbers") {
    Story story;
    story.calling({"7", "8"});
    story.feed(done(1));
    story.feed(Settled{});
    CHECK(story.expect<CallHandler>().records[0].sequence == 2);
    story.feed(CallExpired{});
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().records[0].sequence == 2);
    CHECK(story.expect<CallHandler>().records[0].previous_id == "7");
  }

  TEST_CASE("while a person asks for a turn no call is announced") {
    Story story;
    SUBCASE("at a start") {
      story.claimed({});
      story.feed(Polled{Story::round({"7"})});
      story.feed(Started{Grant::held});
    }
    SUBCASE("at a settlement, which counts") {
      story.calling({"7", "8"});
      story.feed(done(1));
      CHECK(story.expect<Settle>().settlement.announces());
      story.feed(Settled{Grant::held});
      CHECK(story.status().sequence == 1);
      CHECK(story.status().attempts == 0);
    }
    SUBCASE("at a claim") {
      story.claimed({.held = true});
    }
    CHECK(story.wait() == ProcessConfig{}.standby_interval);
    CHECK(story.status().detail == "a person's act on this lane comes first");
    story.feed(Woken{true});
    story.expect<ReadCursor>();
    story.feed(CursorRead{{.epoch = 1, .held = true}});
    CHECK(story.wait() == ProcessConfig{}.standby_interval);
    story.feed(Woken{true});
    story.feed(CursorRead{{.epoch = 1}});
    story.expect<PollSource>();
  }

  TEST_CASE("after a lost session the cursor is read again before anything is called") {
    Story story;
    story.calling({"7", "8"});
    story.feed(done(1));
    story.expect<Settle>();
    story.feed(SessionEnded{"no answer to COMMIT"});
    CHECK(story.status().state == LaneState::claiming);
    CHECK(story.wait() == 25ms);
    story.pass(25ms);
    story.feed(Woken{});
    story.expect<OpenSession>();
    story.feed(Opened{});
    story.expect<ClaimLane>();
    // The commit had arrived: go on after it.
    story.feed(
        Claimed{{true, {.position = Position{1'000, "7"}, .sequence = 1, .epoch = 1}, "us"}});
    CHECK(story.expect<PollSource>().after->id == "7");
  }

  TEST_CASE("a database that stays away is asked less and less often") {
    Story story;
    story.feed(Begin{});
    milliseconds last{0};
    for (int i = 0; i < 12; ++i) {
      story.feed(SessionEnded{"refused"});
      const auto wait = story.wait();
      CHECK(wait >= last);
      CHECK(wait <= 2'500ms);  // half of the cap, as chance is 0.5
      last = wait;
      story.pass(wait);
      story.feed(Woken{});
      story.expect<OpenSession>();
    }
    CHECK(last == 2'500ms);
  }

  TEST_CASE("the lease is renewed between the rows of a slow batch, and no attempt is counted") {
    Story story;
    story.calling({"7", "8", "9"});
    story.pass(ProcessConfig{}.lease / 3);
    story.feed(done(1));
    CHECK_FALSE(story.expect<Settle>().settlement.announces());
    story.feed(Settled{});
    story.expect<ClaimLane>();
    story.feed(
        Claimed{{true, {.position = Position{1'000, "7"}, .sequence = 1, .epoch = 1}, "us"}});
    CHECK(story.expect<PollSource>().after->id == "7");
    story.feed(Polled{Story::round({"8", "9"})});
    story.feed(Started{});
    const auto& second = story.expect<CallHandler>().records;
    CHECK(second[0].id() == "8");
    CHECK(second[0].sequence == 2);
    CHECK(second[0].attempt == 1);
    story.feed(done(1));  // the lease is fresh: on to the next row without asking
    CHECK(story.expect<Settle>().settlement.announces());
    story.feed(Settled{});
    CHECK(story.expect<CallHandler>().records[0].attempt == 1);
  }

  TEST_CASE("a source that cannot be read halts with its reason") {
    Story story;
    story.claimed({});
    story.feed(SourceFailed{HaltReason::cursor_ahead, "max(id) is 3"});
    CHECK(story.settled<Halt>().reason == HaltReason::cursor_ahead);
    story.feed(Settled{});
    CHECK(story.status().state == LaneState::halted);
    CHECK(story.status().detail == "max(id) is 3");
  }

  TEST_CASE("a lane let go on after its source was broken reads the source afresh") {
    Story story;
    story.claimed({});
    story.feed(SourceFailed{HaltReason::source_changed, "table t was replaced"});
    story.feed(Settled{});
    story.pass(1s);
    story.feed(Woken{});
    story.expect<ReadCursor>();
    story.feed(CursorRead{{.epoch = 1}});
    story.expect<OpenSession>();
    SUBCASE("and delivers when it was fixed") {
      story.feed(Opened{});
      story.expect<ClaimLane>();
      story.feed(Claimed{{true, {.epoch = 1}, "us"}});
      story.expect<PollSource>();
    }
    SUBCASE("and writes nothing without a session when it was not") {
      story.feed(SourceFailed{HaltReason::source_changed, "table t is gone"});
      CHECK(story.status().state == LaneState::halted);
      story.expect<WaitUntil>();
      story.pass(1s);
      story.feed(Woken{});
      story.expect<OpenSession>();
    }
  }
}

TEST_SUITE("lane: waiting and leaving") {
  TEST_CASE("idle polling slows down to its limit and is quick again after a row") {
    auto config = Story::quick();
    config.lease = 1h;
    Story story(config);
    story.claimed({});
    std::vector<milliseconds> waits;
    for (int i = 0; i < 10; ++i) {
      story.feed(Polled{});
      waits.push_back(story.wait());
      story.pass(waits.back());
      story.feed(Woken{});
      story.expect<PollSource>();
    }
    CHECK(waits.front() == 1ms);
    CHECK(waits[3] == 8ms);
    CHECK(waits.back() == 200ms);
    story.feed(Polled{Story::round({"7"})});
    story.feed(Started{});
    story.feed(done(1));
    story.feed(Settled{});
    story.feed(Polled{});
    CHECK(story.wait() == 1ms);
  }

  TEST_CASE("behind a transaction the lane asks again after an eighth of what the wait took") {
    auto config = Story::quick();
    config.lease = 1h;
    Story story(config);
    story.claimed({});
    PollResult fenced;
    fenced.fenced = true;
    for (int i = 0; i < 80; ++i) {
      if (i > 0) story.feed(Woken{});
      story.feed(Polled{fenced});
      const milliseconds eighth = std::clamp(story.status().fenced_for / 8,
                                             config.poll_interval_min, config.poll_interval_max);
      CHECK(story.wait() == eighth);
      story.pass(story.wait());
    }
    CHECK(story.status().fenced_for > 8 * config.poll_interval_max);
  }

  TEST_CASE("a fenced lane names who holds it") {
    Story story;
    story.claimed({});
    PollResult round;
    round.fenced = true;
    round.blockers.push_back({.pid = 4711, .application = "billing"});
    story.feed(Polled{round});
    CHECK(story.status().state == LaneState::fenced);
    REQUIRE(story.status().blockers.size() == 1);
    CHECK(story.status().blockers[0].pid == 4711);
  }

  TEST_CASE("a fenced lane knows since when nothing goes out, until something does") {
    Story story;
    story.claimed({});
    PollResult fenced;
    fenced.fenced = true;
    story.feed(Polled{fenced});
    CHECK(story.status().fenced_for == 0ms);
    story.pass(1500ms);
    story.feed(Woken{});
    story.feed(Polled{fenced});
    CHECK(story.status().fenced_for == 1500ms);
    story.feed(Woken{});
    story.feed(Polled{Story::round({"7"})});
    CHECK(story.status().state == LaneState::running);
    CHECK(story.status().fenced_for == 0ms);
    story.feed(Started{});
    story.feed(done(1));
    story.feed(Settled{});
    story.pass(1s);
    story.feed(Polled{fenced});
    CHECK(story.status().fenced_for == 0ms);
  }

  TEST_CASE("a stop finishes the call in flight, commits it, and gives the lane up") {
    Story story;
    story.calling({"7", "8"});
    story.ask_to_stop();
    story.feed(done(1));
    CHECK_FALSE(story.expect<Settle>().settlement.announces());
    story.feed(Settled{});
    CHECK_FALSE(story.expect<ReleaseLane>().untouched);
    story.feed(Released{});
    story.expect<Finish>();
    CHECK(story.status().state == LaneState::stopped);
  }

  TEST_CASE("a stop before the first call takes the started attempt back") {
    Story story;
    story.claimed({});
    story.feed(Polled{Story::round({"7"})});
    story.ask_to_stop();
    story.feed(Started{});
    CHECK(story.expect<ReleaseLane>().untouched);
  }

  TEST_CASE("a stop at a refused advance takes nothing back: the call was made") {
    Story story;
    story.calling({"7", "8"});
    story.feed(done(1));
    story.ask_to_stop();
    story.feed(Settled{Grant::lost});
    CHECK_FALSE(story.expect<ReleaseLane>().untouched);
  }

  TEST_CASE("draining ends when nothing committed is left, not at the first fence") {
    Story story(Story::quick(), {.drain = true});
    story.claimed({});
    PollResult fenced;
    fenced.fenced = true;
    story.feed(Polled{fenced});
    story.expect<WaitUntil>();
    story.feed(Woken{});
    story.feed(Polled{});
    story.expect<ReleaseLane>();
    story.feed(Released{});
    story.expect<Finish>();
  }

  TEST_CASE(
      "draining waits the lease of a call for a lane held by another, then says it was not "
      "drained") {
    Story story(Story::quick(), {.drain = true});
    story.feed(Begin{});
    story.feed(Opened{});
    Claim claim{.cursor = {.epoch = 1}, .holder = "another"};
    const auto refused = [&] { story.feed(Claimed{claim}); };
    refused();
    SUBCASE("which may have been left by a relay that died") {
      story.expect<WaitUntil>();
      story.pass(story.wait());
      story.feed(Woken{});
      story.expect<ClaimLane>();
      story.feed(Claimed{{true, {.epoch = 2}, "us"}});
      story.expect<PollSource>();
    }
    SUBCASE("whose holder lives, or may be in a call") {
      SUBCASE("") {
        claim.holder_lives = true;
        story.pass(ProcessConfig{}.lease);
      }
      SUBCASE("") {
        story.pass(ProcessConfig{}.lease + 2s);
        story.feed(Woken{});
        refused();
        story.expect<WaitUntil>();
        story.pass(Lane::call_lease(ProcessConfig{}) - ProcessConfig{}.lease - 2s);
      }
      story.feed(Woken{});
      refused();
      story.expect<WaitUntil>();
      story.pass(1s);
      story.feed(Woken{});
      refused();
      story.expect<Finish>();
      CHECK(story.status().state == LaneState::standby);
      CHECK(story.status().detail == "held by another");
    }
  }

  TEST_CASE("draining does not wait for an operator") {
    Story story(Story::quick(), {.drain = true});
    story.calling({"7"});
    story.feed(failed(Outcome::poison("HTTP 422")));
    story.feed(Settled{});
    story.expect<ReleaseLane>();
    story.feed(Released{});
    story.expect<Finish>();
    CHECK(story.status().state == LaneState::halted);
  }

  TEST_CASE("a paused lane waits until it is resumed") {
    Story story;
    story.claimed({.state = Cursor::State::paused});
    CHECK(story.status().state == LaneState::paused);
    story.expect<WaitUntil>();
    story.pass(1s);
    story.feed(Woken{});
    story.expect<ReadCursor>();
    story.feed(CursorRead{{.epoch = 1, .state = Cursor::State::paused}});
    story.expect<WaitUntil>();
  }
}

// Each test is a story: an event, the action it must lead to, and why.
#include "core/lane.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace seriatim;
using namespace seriatim::core;
using namespace std::chrono_literals;

namespace {

/// A lane, a clock we move by hand, and the last action it answered with.
class Story {
 public:
  explicit Story(ProcessConfig config = quick(), Lane::Options options = {})
      : lane_(config, 0, options) {}

  static ProcessConfig quick() {
    ProcessConfig config;
    config.name = "p";
    return config;
  }

  void tell(Event event) { action_ = lane_.on(std::move(event), {now_, 0.5, stopping_}); }
  template <class A>
  const A& expect() const {
    REQUIRE_MESSAGE(std::holds_alternative<A>(action_), "action #", action_.index());
    return std::get<A>(action_);
  }
  void pass(milliseconds time) { now_ += time; }
  void ask_to_stop() { stopping_ = true; }
  milliseconds wait() const {
    return std::chrono::ceil<milliseconds>(expect<WaitUntil>().deadline - now_);
  }
  const LaneStatus& status() const { return lane_.status(); }
  Time now() const { return now_; }

  void claimed(Cursor cursor) {
    tell(Begin{});
    expect<OpenSession>();
    tell(Opened{});
    expect<ClaimLane>();
    if (cursor.epoch == 0) cursor.epoch = 1;
    tell(Claimed{{true, cursor, "us"}});
  }
  /// Claimed, polled and locked: the first call of `rows` is the action in hand.
  void calling(std::vector<std::string> rows, Cursor cursor = {}) {
    claimed(cursor);
    expect<PollSource>();
    tell(Polled{round(rows)});
    expect<StartBatch>();
    tell(Started{});
    expect<LockCursor>();
    tell(Locked{});
    expect<CallHandler>();
  }

  static Round round(const std::vector<std::string>& ids) {
    Round round;
    for (const auto& id : ids) {
      Record record;
      record.position = {1'000, id};
      round.records.push_back(record);
    }
    return round;
  }

 private:
  Lane lane_;
  Action action_ = Finish{};
  Time now_{1h};
  bool stopping_ = false;
};

Called done(std::size_t rows) {
  return {{rows, std::nullopt}};
}
Called failed(Outcome outcome, std::size_t rows = 0) {
  return {{rows, std::move(outcome)}};
}

}  // namespace

TEST_SUITE("lane: the way of a row") {
  TEST_CASE("a row is started durably, locked, called, and only then is the cursor moved") {
    Story story;
    story.calling({"7"});

    const auto& call = story.expect<CallHandler>();
    REQUIRE(call.records.size() == 1);
    CHECK(call.records[0].id() == "7");
    CHECK(call.records[0].sequence == 1);
    CHECK(call.records[0].epoch == 1);
    CHECK(call.records[0].attempt == 1);
    CHECK_FALSE(call.records[0].previous_id);

    story.tell(done(1));
    const auto& advance = story.expect<AdvanceCursor>();
    CHECK_FALSE(advance.from);
    CHECK(advance.done.back().id == "7");
    CHECK_FALSE(advance.next_started);

    story.tell(Advanced{});
    CHECK(story.expect<PollSource>().after->id == "7");
    CHECK(story.status().sequence == 1);
  }

  TEST_CASE("with commit_every = 1 every row has its own lock and its own commit") {
    Story story;
    story.calling({"7", "8"});
    story.tell(done(1));
    CHECK(story.expect<AdvanceCursor>().next_started);
    story.tell(Advanced{});
    CHECK(story.expect<LockCursor>().expected->id == "7");
    story.tell(Locked{});
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
    story.tell(done(2));  // the handler yielded after two
    CHECK(story.expect<AdvanceCursor>().done.size() == 2);
    story.tell(Advanced{});
    story.tell(Locked{});
    CHECK(story.expect<CallHandler>().records.size() == 2);
    CHECK(story.expect<CallHandler>().records[0].id() == "3");
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
    story.tell(failed(Outcome::retry_later("HTTP 500")));
    const auto& note = story.expect<NoteRetry>();
    CHECK(note.failure.row_id == "7");
    CHECK(note.delay == 250ms);  // half of the first ceiling of 500 ms
    story.tell(Noted{});
    CHECK(story.wait() == 250ms);
    CHECK(story.status().state == LaneState::retrying);
    CHECK(story.status().detail == "HTTP 500");

    story.pass(250ms);
    story.tell(Woken{});
    story.expect<LookAtCursor>();
    story.tell(Looked{{.epoch = 1, .state = Cursor::State::retrying, .attempts = 1}});
    story.expect<PollSource>();
    story.tell(Polled{Story::round({"7", "8"})});
    story.tell(Started{});
    story.tell(Locked{});
    CHECK(story.expect<CallHandler>().records[0].id() == "7");
    CHECK(story.expect<CallHandler>().records[0].sequence == 1);
    CHECK(story.expect<CallHandler>().records[0].attempt == 2);
  }

  TEST_CASE("what was done before the failure is committed first") {
    auto config = Story::quick();
    config.commit_every = 10;
    Story story(config);
    story.calling({"1", "2", "3"});
    story.tell(failed(Outcome::poison("HTTP 422"), 1));
    CHECK(story.expect<AdvanceCursor>().done.back().id == "1");
    CHECK(story.expect<AdvanceCursor>().next_started);
    story.tell(Advanced{});
    CHECK(story.expect<HaltLane>().reason == HaltReason::poison);
    CHECK(story.expect<HaltLane>().failure.row_id == "2");
  }

  TEST_CASE("poison halts, and the lane then only looks for an operator") {
    Story story;
    story.calling({"7"});
    story.tell(failed(Outcome::poison("HTTP 422")));
    story.expect<HaltLane>();
    story.tell(Noted{});
    CHECK(story.wait() == Lane::operator_interval);
    CHECK(story.status().state == LaneState::halted);
    CHECK(story.status().reason == HaltReason::poison);
    CHECK(story.status().row_id == "7");
    story.pass(1s);
    story.tell(Woken{});
    story.expect<LookAtCursor>();
    story.tell(Looked{{.epoch = 1, .state = Cursor::State::running, .attempts = 1}});
    story.expect<PollSource>();
  }

  TEST_CASE("an unknown outcome is retried, or halts where the configuration says so") {
    SUBCASE("retry") {
      Story story;
      story.calling({"7"});
      story.tell(failed(Outcome::unknown("reset")));
      story.expect<NoteRetry>();
    }
    SUBCASE("halt") {
      auto config = Story::quick();
      config.on_unknown = OnUnknown::halt;
      Story story(config);
      story.calling({"7"});
      story.tell(failed(Outcome::unknown("reset")));
      CHECK(story.expect<HaltLane>().reason == HaltReason::unknown_outcome);
    }
  }

  TEST_CASE("max_attempts turns a failing row into poison, and counts across restarts") {
    auto config = Story::quick();
    config.max_attempts = 3;
    Story story(config);
    story.calling({"7"}, Cursor{.attempts = 2});
    CHECK(story.expect<CallHandler>().records[0].attempt == 3);
    story.tell(failed(Outcome::retry_later("HTTP 500")));
    CHECK(story.expect<HaltLane>().reason == HaltReason::poison);
    CHECK(story.expect<HaltLane>().failure.detail == "given up after 3 attempts: HTTP 500");
  }

  TEST_CASE("a row that kills the process is found, alone, and halts") {
    Story story;
    story.claimed({.attempts = 3, .crashes = 3});
    CHECK(story.expect<PollSource>().rows_max == 1);
    story.tell(Polled{Story::round({"7"})});
    CHECK(story.expect<HaltLane>().reason == HaltReason::crashes);
    CHECK(story.expect<HaltLane>().failure.row_id == "7");
  }

  TEST_CASE("after one unclean end rows go one by one, so that the guilty one is known") {
    auto config = Story::quick();
    config.commit_every = config.batch_rows = 2;
    Story story(config);
    story.calling({"7"}, Cursor{.attempts = 1, .crashes = 1});
    story.tell(done(1));
    story.tell(Advanced{});
    CHECK(story.expect<PollSource>().rows_max == 1);
    story.tell(Polled{Story::round({"8"})});
    story.tell(Started{});
    story.tell(Locked{});
    story.tell(done(1));
    story.tell(Advanced{});
    CHECK(story.expect<PollSource>().rows_max == 2);
  }

  TEST_CASE("a row that cannot be read halts once it is reached, not before") {
    Story story;
    story.claimed({});
    auto round = Story::round({"7"});
    round.unreadable = Round::Unreadable{"8", HaltReason::bad_payload, "too large"};
    story.tell(Polled{round});
    story.tell(Started{});
    story.tell(Locked{});
    story.tell(done(1));
    story.tell(Advanced{});
    story.expect<PollSource>();
    Round rest;
    rest.unreadable = round.unreadable;
    story.tell(Polled{rest});
    CHECK(story.expect<HaltLane>().reason == HaltReason::bad_payload);
    CHECK(story.expect<HaltLane>().failure.row_id == "8");
  }
}

TEST_SUITE("lane: holders") {
  TEST_CASE("a lane held by another is left alone and looked at again") {
    Story story;
    story.tell(Begin{});
    story.tell(Opened{});
    story.tell(Claimed{{false, {}, "other"}});
    CHECK(story.wait() == ProcessConfig{}.standby_interval);
    CHECK(story.status().state == LaneState::standby);
    CHECK(story.status().detail == "held by other");
    story.pass(1s);
    story.tell(Woken{});
    story.expect<ClaimLane>();
  }

  TEST_CASE("nothing is called when the durable start, the lock or the epoch is refused") {
    Story story;
    story.claimed({});
    story.tell(Polled{Story::round({"7"})});
    SUBCASE("start refused") {
      story.tell(Started{false});
    }
    SUBCASE("lock refused") {
      story.tell(Started{});
      story.tell(Locked{false});
    }
    SUBCASE("advance refused: another may have called since") {
      story.tell(Started{});
      story.tell(Locked{});
      story.tell(done(1));
      story.tell(Advanced{false});
    }
    CHECK(story.wait() == Lane::refused_pause);
    story.pass(5ms);
    story.tell(Woken{});
    story.expect<ClaimLane>();
  }

  TEST_CASE("a call not begun in time is not begun: the lock is taken anew") {
    Story story;
    story.calling({"7"});
    CHECK(story.expect<CallHandler>().not_after == story.now() + Lane::call_begin_max);
    story.pass(1h);
    story.tell(CallExpired{});
    story.expect<LockCursor>();
  }

  TEST_CASE("after a lost session the cursor is read again before anything is called") {
    Story story;
    story.calling({"7", "8"});
    story.tell(done(1));
    story.expect<AdvanceCursor>();
    story.tell(SessionEnded{"no answer to COMMIT"});
    CHECK(story.status().state == LaneState::claiming);
    CHECK(story.wait() == 25ms);
    story.pass(25ms);
    story.tell(Woken{});
    story.expect<OpenSession>();
    story.tell(Opened{});
    story.expect<ClaimLane>();
    // The commit had arrived: go on after it.
    story.tell(
        Claimed{{true, {.position = Position{1'000, "7"}, .sequence = 1, .epoch = 1}, "us"}});
    CHECK(story.expect<PollSource>().after->id == "7");
  }

  TEST_CASE("a database that stays away is asked less and less often") {
    Story story;
    story.tell(Begin{});
    milliseconds last{0};
    for (int i = 0; i < 12; ++i) {
      story.tell(SessionEnded{"refused"});
      const auto wait = story.wait();
      CHECK(wait >= last);
      CHECK(wait <= 2'500ms);  // half of the cap, as chance is 0.5
      last = wait;
      story.pass(wait);
      story.tell(Woken{});
      story.expect<OpenSession>();
    }
    CHECK(last == 2'500ms);
  }

  TEST_CASE("the lease is renewed while there is nothing to do") {
    Story story;
    story.claimed({});
    const auto renew = ProcessConfig{}.lease / 3;
    story.pass(renew);
    story.tell(Polled{});
    story.expect<WaitUntil>();
    story.tell(Woken{});
    story.expect<ClaimLane>();
  }

  TEST_CASE("a source that cannot be read halts with its reason") {
    Story story;
    story.claimed({});
    story.tell(SourceFailed{HaltReason::cursor_ahead, "max(id) is 3"});
    CHECK(story.expect<HaltLane>().reason == HaltReason::cursor_ahead);
    story.tell(Noted{});
    CHECK(story.status().state == LaneState::halted);
    CHECK(story.status().detail == "max(id) is 3");
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
      story.tell(Polled{});
      waits.push_back(story.wait());
      story.pass(waits.back());
      story.tell(Woken{});
      story.expect<PollSource>();
    }
    CHECK(waits.front() == 1ms);
    CHECK(waits[3] == 8ms);
    CHECK(waits.back() == 200ms);
    story.tell(Polled{Story::round({"7"})});
    story.tell(Started{});
    story.tell(Locked{});
    story.tell(done(1));
    story.tell(Advanced{});
    story.tell(Polled{});
    CHECK(story.wait() == 1ms);
  }

  TEST_CASE("a fenced lane names who holds it") {
    Story story;
    story.claimed({});
    Round round;
    round.fenced = true;
    round.blockers.push_back({.pid = 4711, .application = "billing"});
    story.tell(Polled{round});
    CHECK(story.status().state == LaneState::fenced);
    REQUIRE(story.status().blockers.size() == 1);
    CHECK(story.status().blockers[0].pid == 4711);
  }

  TEST_CASE("a stop finishes the call in hand, commits it, and gives the lane up") {
    Story story;
    story.calling({"7", "8"});
    story.ask_to_stop();
    story.tell(done(1));
    CHECK_FALSE(story.expect<AdvanceCursor>().next_started);
    story.tell(Advanced{});
    CHECK_FALSE(story.expect<ReleaseLane>().untouched);
    story.tell(Released{});
    story.expect<Finish>();
    CHECK(story.status().state == LaneState::stopped);
  }

  TEST_CASE("a stop before the first call takes the started attempt back") {
    Story story;
    story.claimed({});
    story.tell(Polled{Story::round({"7"})});
    story.tell(Started{});
    story.ask_to_stop();
    story.tell(Locked{});
    CHECK(story.expect<ReleaseLane>().untouched);
  }

  TEST_CASE("draining ends when nothing committed is left, not at the first fence") {
    Story story(Story::quick(), {.drain = true});
    story.claimed({});
    Round fenced;
    fenced.fenced = true;
    story.tell(Polled{fenced});
    story.expect<WaitUntil>();
    story.tell(Woken{});
    story.tell(Polled{});
    story.expect<ReleaseLane>();
    story.tell(Released{});
    story.expect<Finish>();
  }

  TEST_CASE("draining does not wait for an operator") {
    Story story(Story::quick(), {.drain = true});
    story.calling({"7"});
    story.tell(failed(Outcome::poison("HTTP 422")));
    story.tell(Noted{});
    story.expect<ReleaseLane>();
    story.tell(Released{});
    story.expect<Finish>();
    CHECK(story.status().state == LaneState::halted);
  }

  TEST_CASE("a paused lane stands still until it is resumed") {
    Story story;
    story.claimed({.state = Cursor::State::paused});
    CHECK(story.status().state == LaneState::paused);
    story.expect<WaitUntil>();
    story.pass(1s);
    story.tell(Woken{});
    story.expect<LookAtCursor>();
    story.tell(Looked{{.epoch = 1, .state = Cursor::State::paused}});
    story.expect<WaitUntil>();
  }
}

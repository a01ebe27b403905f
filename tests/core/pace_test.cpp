// The token buckets of the rate limits; and the lane with one call at a time, which waits for them.
#include "core/pace.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "core/lane_story.hpp"

using namespace seriatim;
using core::Pace;
using core::Time;
using std::chrono::milliseconds;
using namespace seriatim::core::testing;
using namespace seriatim::core;

namespace {

ProcessConfig limited(RateLimit of_process, RateLimit of_key = {}, unsigned lanes = 1) {
  auto config = Story::quick();
  config.rate_limit = of_process;
  config.key_rate_limit = of_key;
  config.lanes = lanes;
  return config;
}

/// How many rows of the key went out from `begin` on if it was asked every millisecond.
int calls_in(Pace& pace, const Pace::Key& key, Time begin, milliseconds time) {
  int calls = 0;
  for (milliseconds passed{0}; passed < time; passed += milliseconds(1)) {
    while (pace.is_free(key, begin + passed)) {
      pace.take(key, begin + passed);
      calls += 1;
    }
  }
  return calls;
}

PollResult rows_of(const std::vector<std::string>& keys) {
  PollResult round;
  for (const auto& key : keys) {
    auto& record = round.records.emplace_back();
    record.position = {1'000, std::to_string(round.records.size())};
    record.key = key;
  }
  return round;
}

/// The wait is over: the lane reads its row, and polls.
void wait_and_poll(Story& story, Cursor cursor, PollResult round) {
  story.pass(story.wait());
  story.feed(Woken{});
  story.expect<ReadCursor>();
  story.feed(CursorRead{std::move(cursor)});
  story.expect<PollSource>();
  story.feed(Polled{std::move(round)});
}

}  // namespace

TEST_SUITE("rate limits") {
  const Time begin{std::chrono::hours(1)};

  TEST_CASE("without a limit every row may go, and nothing is kept") {
    Pace pace{ProcessConfig{}};
    CHECK_FALSE(pace.limits());
    pace.take("a", begin);
    CHECK(pace.is_free("a", begin));
    CHECK(pace.known_keys() == 0);
  }

  TEST_CASE("rows go at the rate, and a tenth of a second's rows at once") {
    for (const unsigned rows : {1U, 7U, 10U, 100U, 1'000U, 20'000U}) {
      CAPTURE(rows);
      Pace pace(limited({rows}));
      const int burst = std::max(static_cast<int>(rows) / 10, 1);
      CHECK(calls_in(pace, "a", begin, milliseconds(1)) >= burst);
      const auto most = burst + static_cast<int>(rows) * 5;
      const int calls = burst + calls_in(pace, "a", begin + milliseconds(1), milliseconds(5'000));
      CHECK(calls <= most + 1);
      CHECK(calls >= static_cast<int>(rows) * 5);
    }
  }

  TEST_CASE("a time without calls saves up no more than the burst") {
    Pace pace(limited({100}));
    pace.take("a", begin);
    CHECK(calls_in(pace, "a", begin + std::chrono::hours(1), milliseconds(1)) == 10);
  }

  TEST_CASE("lanes share the limit of their process, not that of a key") {
    Pace pace(limited({8}, {}, 4));
    CHECK(calls_in(pace, "a", begin, milliseconds(10'000)) == 20);
    Pace of_key(limited({}, {2}, 4));
    CHECK(calls_in(of_key, "a", begin, milliseconds(10'000)) == 20);
  }

  TEST_CASE("keys do not wait for one another, and rows without a key are of one key") {
    Pace pace(limited({}, {60, std::chrono::minutes(1)}));
    pace.take("a", begin);
    CHECK_FALSE(pace.is_free("a", begin + milliseconds(999)));
    CHECK(pace.is_free("a", begin + milliseconds(1'000)));
    CHECK(pace.is_free("b", begin));
    pace.take(std::nullopt, begin);
    CHECK_FALSE(pace.is_free(std::nullopt, begin + milliseconds(999)));
  }

  TEST_CASE("keys are forgotten once they are free again, and never more are kept than fit") {
    Pace pace(limited({}, {1}));
    for (int i = 0; i < 1'000; ++i) pace.take(std::to_string(i), begin);
    CHECK(pace.known_keys() == 1'000);
    pace.take("again", begin + milliseconds(1'001));
    CHECK(pace.known_keys() == 1);
    for (std::size_t i = 0; i < Pace::kept_max + 10; ++i) pace.take(std::to_string(i), begin);
    CHECK(pace.known_keys() == Pace::kept_max);
  }

  TEST_CASE("one call at a time: the next row waits until its limit lets it go") {
    Story story(limited({10}));
    story.claimed({});
    story.feed(Polled{rows_of({"a", "b"})});
    story.expect<StartBatch>();
    story.feed(Started{});
    story.expect<CallHandler>();
    story.pass(milliseconds(30));
    story.feed(done(1));
    story.settled<Rest>();  // so the next call is not announced with it
    story.feed(Settled{});
    CHECK(story.wait() == milliseconds(70));
    CHECK(story.status().detail == "the next row waits for its rate limit");
    SUBCASE("it is not read again") {}
    SUBCASE("nor is it if somebody wants something") {
      story.feed(Woken{true});
      story.expect<ReadCursor>();
      Cursor cursor;
      cursor.epoch = 1;
      cursor.sequence = 1;
      cursor.position = Position{1'000, "1"};
      story.feed(CursorRead{cursor});
      CHECK(story.wait() == milliseconds(70));
    }
    story.pass(story.wait());
    story.feed(Woken{});
    CHECK(story.expect<StartBatch>().rows == 1);
    CHECK(story.status().detail.empty());
  }

  TEST_CASE("one call at a time: rows of a batch that were not called cost no token") {
    auto config = limited({}, {1, std::chrono::hours(1)});
    config.commit_every = 10;
    Story story(config);
    story.claimed({});
    story.feed(Polled{rows_of({"a", "b", "c"})});
    CHECK(story.expect<StartBatch>().rows == 3);
    story.feed(Started{});
    story.feed(done(1));  // and the time of the batch is over
    CHECK(story.settled<Next>().rows == 2);
    story.feed(Settled{});
    CHECK(story.expect<CallHandler>().records.size() == 2);
    story.feed(CallExpired{});
    CHECK(story.expect<StartBatch>().rows == 2);
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().records.size() == 2);
  }

  TEST_CASE("one call at a time: a batch is cut at the row that must wait") {
    auto config = limited({}, {10});
    config.commit_every = 10;
    Story story(config);
    story.claimed({});
    story.feed(Polled{rows_of({"a", "b", "a", "c"})});
    CHECK(story.expect<StartBatch>().rows == 2);
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().records.size() == 2);
    story.pass(milliseconds(100));
    story.feed(done(2));
    CHECK(story.settled<Next>().rows == 2);  // its time has come
  }

  TEST_CASE("one call at a time: a row that is tried again needs a token, too") {
    Story story(limited({1, std::chrono::minutes(1)}));
    story.claimed({});
    story.feed(Polled{rows_of({"a"})});
    story.feed(Started{});
    story.feed(failed(Outcome::retry_later("busy")));
    story.settled<Retry>();
    story.feed(Settled{});
    Cursor cursor;
    cursor.epoch = 1;
    cursor.attempts = 1;
    cursor.state = Cursor::State::retrying;
    wait_and_poll(story, cursor, rows_of({"a"}));
    story.expect<WaitUntil>();
    CHECK(story.status().detail == "the next row waits for its rate limit");
  }
}

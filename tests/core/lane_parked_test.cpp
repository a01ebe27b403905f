// What a lane does about poison where it may set rows aside.
#include <doctest/doctest.h>

#include "core/lane_story.hpp"
#include "core/queueing.hpp"

using namespace seriatim;
using namespace seriatim::core;
using namespace seriatim::core::testing;

namespace {

ProcessConfig parking(OnPoison on_poison = OnPoison::park_key) {
  auto config = Story::quick();
  config.on_poison = on_poison;
  return config;
}

/// "7 a" is row 7 of key a; "8" has no key.
PollResult keyed(const std::vector<std::string>& rows) {
  PollResult round;
  for (const auto& row : rows) {
    const auto space = row.find(' ');
    Record record;
    record.position = {1'000, row.substr(0, space)};
    if (space != std::string::npos) record.key = row.substr(space + 1);
    round.records.push_back(record);
  }
  return round;
}

PollResult queued(const ParkedKeys& keys, const std::vector<std::string>& rows) {
  auto round = keyed(rows);
  queue_rows_of(keys, round);
  return round;
}

std::vector<std::string> ids(const std::vector<QueuedRow>& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row.position.id);
  return ids;
}

std::vector<std::string> ids(const std::vector<Position>& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row.id);
  return ids;
}

using Ids = std::vector<std::string>;

void calling(Story& story, PollResult round) {
  story.claimed({});
  story.feed(Polled{std::move(round)});
  story.expect<StartBatch>();
  story.feed(Started{});
  story.expect<CallHandler>();
}

}  // namespace

TEST_SUITE("lane, parked rows") {
  TEST_CASE("a poison row is parked with its key, and the batch is read anew") {
    Story story(parking());
    calling(story, keyed({"7 a", "8 b"}));
    story.feed(failed(Outcome::poison("HTTP 422")));
    const auto& parking = story.settled<Park>();
    CHECK_FALSE(story.expect<Settle>().settlement.from);
    CHECK(parking.row.id == "7");
    CHECK(parking.key == "a");
    CHECK(parking.holds_key);
    CHECK(parking.attempts == 1);
    CHECK(parking.detail == "HTTP 422");

    story.feed(Settled{.parked = 1});
    CHECK(story.expect<PollSource>().after->id == "7");
    CHECK(story.expect<PollSource>().may_redrive);
    CHECK(story.status().sequence == 1);
    CHECK(story.status().parked == 1);
  }

  TEST_CASE("a dead letter does not hold its key") {
    Story story(parking(OnPoison::dead_letter));
    calling(story, keyed({"7 a"}));
    story.feed(failed(Outcome::poison("HTTP 422")));
    CHECK_FALSE(story.settled<Park>().holds_key);
  }

  TEST_CASE("a row given up after max_attempts is parked too") {
    auto config = parking();
    config.max_attempts = 1;
    Story story(config);
    calling(story, keyed({"7 a"}));
    story.feed(failed(Outcome::retry_later("HTTP 503")));
    CHECK(story.settled<Park>().detail == "given up after 1 attempts: HTTP 503");
  }

  TEST_CASE("an unknown outcome that is to halt is not parked") {
    auto config = parking();
    config.on_unknown = OnUnknown::halt;
    Story story(config);
    calling(story, keyed({"7 a"}));
    story.feed(failed(Outcome::unknown("reset")));
    CHECK(story.settled<Halt>().reason == HaltReason::unknown_outcome);
  }

  TEST_CASE("with max_parked rows set aside the next poison row halts the lane") {
    auto config = parking();
    config.max_parked = 2;
    Story story(config);
    story.claimed({.parked = 2});
    story.feed(Polled{keyed({"7 a"})});
    story.feed(Started{});
    story.feed(failed(Outcome::poison("HTTP 422")));
    const auto& halt = story.settled<Halt>();
    CHECK(halt.reason == HaltReason::poison);
    CHECK(halt.failure.detail == "HTTP 422; not parked: 2 failed rows are already (max_parked)");
  }

  TEST_CASE("a redriven row that fails again stays parked, however many rows are") {
    auto config = parking();
    config.max_parked = 2;
    Story story(config);
    story.claimed({.position = Position{2'000, "20"}, .sequence = 20, .parked = 2});
    auto round = keyed({"7 a"});
    round.records[0].late = true;
    round.due_rows = {{.id = round.records[0].id(), .redriven = true}};
    story.feed(Polled{std::move(round)});
    story.feed(Started{});
    story.feed(failed(Outcome::poison("HTTP 422")));
    story.settled<Park>();
    story.feed(Settled{});
    CHECK(story.status().parked == 2);
    story.expect<PollSource>();
  }

  TEST_CASE("the settlement says how many rows are parked and how many keys are held") {
    Story story(parking());
    story.claimed({.position = Position{2'000, "20"}, .sequence = 20, .parked = 2});
    auto round = keyed({"7 a"});
    round.records[0].late = true;
    round.due_rows = {{.id = round.records[0].id(), .redriven = true}};
    story.feed(Polled{std::move(round)});
    story.feed(Started{});
    story.feed(done(1));
    story.feed(Settled{.parked = -1, .held_keys = 1});
    CHECK(story.status().parked == 1);
    story.expect<PollSource>();
  }

  TEST_CASE("rows of a parked key are set aside with the row before them, and keep their numbers") {
    Story story(parking());
    calling(story, queued({"a"}, {"7 a", "8 b", "9 a", "10 a", "11 b", "12 a"}));
    {
      const auto& call = story.expect<CallHandler>();
      REQUIRE(call.records.size() == 1);
      CHECK(call.records[0].id() == "8");
      CHECK(call.records[0].sequence == 2);
      CHECK(call.records[0].previous_id == "7");
    }
    story.feed(done(1));
    {
      const auto& advance = story.expect<Settle>().settlement;
      CHECK(ids(advance.done) == Ids{"8"});
      CHECK(ids(advance.queued) == Ids{"7", "9", "10"});
      CHECK(advance.queued[0].before == 0);
      CHECK(advance.queued[1].before == 1);
      CHECK(advance.announces());
    }
    story.feed(Settled{});
    CHECK(story.status().sequence == 4);
    CHECK(story.status().position->id == "10");
    CHECK(story.expect<CallHandler>().records[0].sequence == 5);
    story.feed(done(1));
    {
      const auto& advance = story.expect<Settle>().settlement;
      CHECK(advance.from->id == "10");
      CHECK(ids(advance.queued) == Ids{"12"});
      CHECK(advance.queued[0].before == 1);
      CHECK_FALSE(advance.announces());
    }
    story.feed(Settled{});
    CHECK(story.expect<PollSource>().after->id == "12");
    CHECK(story.status().sequence == 6);
  }

  TEST_CASE("where all rows queue they are set aside without a call, and no attempt is counted") {
    Story story(parking());
    story.claimed({});
    story.feed(Polled{queued({"a"}, {"7 a", "8 a"})});
    const auto& advance = story.expect<Settle>().settlement;
    CHECK(advance.done.empty());
    CHECK(ids(advance.queued) == Ids{"7", "8"});
    CHECK_FALSE(advance.announces());
    story.feed(Settled{});
    CHECK(story.expect<PollSource>().may_redrive);
    CHECK(story.status().position->id == "8");
  }

  TEST_CASE("a failure behind rows that queue is settled with these") {
    Story story(parking());
    calling(story, queued({"a"}, {"7 a", "8 b"}));
    story.feed(failed(Outcome::poison("HTTP 422")));
    CHECK(ids(story.expect<Settle>().settlement.queued) == Ids{"7"});
    CHECK(story.settled<Park>().row.id == "8");
    story.feed(Settled{});
    CHECK(story.status().sequence == 2);
    CHECK(story.expect<PollSource>().after->id == "8");
  }

  TEST_CASE("rows without a key queue behind a parked one without a key") {
    auto round = queued({std::nullopt}, {"7", "8 b", "9"});
    CHECK(ids(round.queued) == Ids{"7", "9"});
    CHECK(round.records.size() == 1);
  }

  TEST_CASE("a late row that is parked leaves the cursor where it is") {
    Story story(parking());
    auto round = keyed({"7 a"});
    round.records[0].late = true;
    story.claimed({.position = Position{2'000, "20"}, .sequence = 20});
    story.feed(Polled{std::move(round)});
    story.feed(Started{});
    story.feed(failed(Outcome::poison("HTTP 422")));
    CHECK(story.settled<Park>().late);
    story.feed(Settled{});
    CHECK(story.status().position->id == "20");
    CHECK(story.status().sequence == 21);
  }

  TEST_CASE("while an attempt is open no parked row is begun") {
    Story story(parking());
    calling(story, keyed({"7 a"}));
    story.feed(failed(Outcome::retry_later("HTTP 503")));
    story.settled<Retry>();
    story.feed(Settled{});
    story.pass(story.wait());
    story.feed(Woken{});
    story.feed(CursorRead{{.epoch = 1, .state = Cursor::State::retrying, .attempts = 1}});
    CHECK_FALSE(story.expect<PollSource>().may_redrive);
  }

  TEST_CASE("a lane that lost its row to another sets nothing aside") {
    Story story(parking());
    calling(story, keyed({"7 a"}));
    story.feed(failed(Outcome::poison("HTTP 422")));
    story.feed(Settled{Grant::lost});
    CHECK(story.status().sequence == 0);
    CHECK(story.status().state == LaneState::claiming);
  }
}

namespace {

ProcessConfig reading_ahead() {
  auto config = Story::quick();
  config.read_ahead = true;
  config.batch_rows = config.commit_every = 2;
  return config;
}

Called done_and_read(std::size_t rows) {
  return {{rows, std::nullopt}, 2};
}

}  // namespace

TEST_SUITE("lane, reading ahead") {
  TEST_CASE("the poll after the last call of a full batch is known before it") {
    auto config = Story::quick();
    config.read_ahead = true;
    config.batch_rows = 2;
    config.commit_every = 1;
    Story story(config);
    calling(story, keyed({"7", "8"}));
    CHECK_FALSE(story.expect<CallHandler>().then);
    story.feed(done(1));
    story.feed(Settled{});
    const auto then = story.expect<CallHandler>().then;
    REQUIRE(then);
    CHECK(then->after->id == "8");
    CHECK(then->rows_max == 2);
    story.feed(done(1));
    story.feed(Settled{});
    CHECK(story.expect<PollSource>().after == then->after);

    story.feed(Polled{keyed({"9"})});
    story.feed(Started{});
    CHECK_FALSE(story.expect<CallHandler>().then);  // nothing else was waiting
  }

  TEST_CASE("a round that is read by then starts with the commit of the one before") {
    Story story(reading_ahead());
    calling(story, keyed({"7", "8"}));
    story.feed(done_and_read(2));
    const auto& advance = story.expect<Settle>().settlement;
    CHECK(std::get<Next>(advance.fate) == Next{2, true});
    story.feed(Settled{});
    CHECK(story.expect<PollSource>().after->id == "8");
    CHECK_FALSE(story.expect<PollSource>().may_redrive);
    auto next = keyed({"9", "10"});
    next.announced = true;
    story.feed(Polled{std::move(next)});
    const auto& first = story.expect<CallHandler>().records.front();
    CHECK(first.sequence == 3);
    CHECK(first.attempt == 1);
    CHECK(first.previous_id == "8");
  }

  TEST_CASE("what comes instead of the round that was read is started itself") {
    Story story(reading_ahead());
    calling(story, keyed({"7", "8"}));
    story.feed(done_and_read(2));
    story.feed(Settled{});
    story.feed(Polled{keyed({"9", "10"})});
    CHECK(story.expect<StartBatch>().again);  // counted with the advance
    story.feed(Started{});
    CHECK(story.expect<CallHandler>().records.front().attempt == 1);
  }

  TEST_CASE("a failure, a rest of the batch, a stop: nothing starts with the commit") {
    Story failing(reading_ahead());
    calling(failing, keyed({"7", "8"}));
    failing.feed(Called{{1, Outcome::retry_later("HTTP 503")}, 2});
    CHECK_FALSE(failing.expect<Settle>().settlement.announces());

    Story yielding(reading_ahead());
    calling(yielding, keyed({"7", "8"}));
    yielding.feed(done_and_read(1));
    CHECK_FALSE(yielding.settled<Next>().read_ahead);

    Story stopping(reading_ahead());
    calling(stopping, keyed({"7", "8"}));
    stopping.ask_to_stop();
    stopping.feed(done_and_read(2));
    CHECK_FALSE(stopping.expect<Settle>().settlement.announces());
  }

  TEST_CASE("asked to stop before the round it started, a lane takes the attempt off the count") {
    Story story(reading_ahead());
    calling(story, keyed({"7", "8"}));
    story.feed(done_and_read(2));
    story.ask_to_stop();
    story.feed(Settled{});
    CHECK(story.expect<ReleaseLane>().untouched);
  }
}

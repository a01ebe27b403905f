// The delivery loop of brokers: what it makes of rounds.
#include "support/pipelined_handler.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "support/cannot_render.hpp"
#include "support/handler_rows.hpp"

using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;

namespace {

constexpr std::size_t limit = 3;  // rows in a round

/// Acknowledges what it is given, up to the row that `answer` is about.
class Scripted final : public PipelinedHandler {
 public:
  std::uint64_t unrenderable = 0;
  std::uint64_t broken = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::optional<Outcome> answer;  ///< about `refused`; empty: "send it again"
  std::optional<Outcome> no_connection;
  std::stop_source stop_after_first_round;
  std::vector<std::size_t> rounds;

 private:
  std::optional<Outcome> begin(Rows, Clock::time_point) override { return no_connection; }
  bool add(Rows rows, std::size_t row) override {
    if (rows[row].sequence == unrenderable) throw CannotRender("no body");
    if (rows[row].sequence == broken) throw std::runtime_error("out of memory");
    return row < limit;
  }
  RoundResult settle(Rows sent, Clock::time_point) override {
    rounds.push_back(sent.size());
    stop_after_first_round.request_stop();
    for (const auto& row : sent) {
      if (row.sequence == lost) throw std::runtime_error("connection lost");
    }
    RoundResult round;
    while (round.done < sent.size() && sent[round.done].sequence != refused) ++round.done;
    if (round.done < sent.size()) round.failure = answer;
    return round;
  }
};

using Rounds = std::vector<std::size_t>;

BatchOutcome deliver(Scripted& handler, std::uint64_t last) {
  return handler.handle(rows(1, last), call_within(std::chrono::seconds{30}));
}

bool is(const BatchOutcome& outcome, std::size_t done, Outcome::Kind kind) {
  return outcome.done == done && outcome.next && outcome.next->kind == kind;
}

}  // namespace

TEST_CASE("a batch goes in rounds, each from the first row that is not acknowledged") {
  Scripted handler;
  const auto outcome = deliver(handler, 8);
  CHECK(outcome.done == 8);
  CHECK_FALSE(outcome.next);
  CHECK(handler.rounds == Rounds{3, 3, 2});
}

TEST_CASE("what happened to the next row ends the call, after the rows that are done") {
  Scripted handler;
  handler.refused = 5;
  handler.answer = Outcome::unknown("no answer");
  CHECK(is(deliver(handler, 8), 4, Outcome::Kind::unknown));
  CHECK(handler.rounds == Rounds{3, 3});
}

TEST_CASE(
    "a row that cannot be rendered ends the round before it, and is poison when it is first") {
  Scripted handler;
  handler.unrenderable = 5;
  CHECK(is(deliver(handler, 8), 4, Outcome::Kind::poison));
  CHECK(handler.rounds == Rounds{3, 1});
}

TEST_CASE("an error ends the call after the rows that are done, and what was sent is settled") {
  Scripted handler;
  handler.broken = 5;
  CHECK(is(deliver(handler, 8), 4, Outcome::Kind::retry_later));
  CHECK(handler.rounds == Rounds{3, 1});
}

TEST_CASE("an error after rows were sent leaves it unknown whether the receiver has them") {
  Scripted handler;
  handler.lost = 5;
  CHECK(is(deliver(handler, 8), 3, Outcome::Kind::unknown));
}

TEST_CASE("without a connection nothing is sent") {
  Scripted handler;
  handler.no_connection = Outcome::retry_later("refused");
  CHECK(is(deliver(handler, 8), 0, Outcome::Kind::retry_later));
  CHECK(handler.rounds.empty());
}

TEST_CASE("rounds that confirm nothing come to an end") {
  Scripted handler;
  handler.refused = 2;
  CHECK(is(deliver(handler, 8), 1, Outcome::Kind::retry_later));
  CHECK(handler.rounds.size() < 100);
}

TEST_CASE("asked to stop, it begins no further round") {
  Scripted handler;
  auto context = call_within(std::chrono::seconds{30});
  context.stop = handler.stop_after_first_round.get_token();
  const auto outcome = handler.handle(rows(1, 8), context);
  CHECK(outcome.done == 3);
  CHECK_FALSE(outcome.next);
}

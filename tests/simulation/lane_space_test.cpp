// A small space is exhausted, not sampled: three rows, two relays, and whatever may strike strikes
// at every step of theirs. SERIATIM_SIM_DEPTH=3 lets three troubles meet; two are the default.
#include <doctest/doctest.h>

#include "simulation/seeds.hpp"

using namespace seriatim;
using namespace seriatim::simulation;
using std::chrono::milliseconds;
using testing::Choices;

namespace {

struct Walk {
  std::size_t runs = 0;
  std::optional<std::string> story;  ///< of the run that broke a promise
};

/// Two relays that know each other's moves by the lease alone, three rows, one a time.
Setup three_rows(unsigned troubles) {
  Setup setup;
  setup.seed = 1;
  setup.profile = Profile::everything;
  setup.faults = true;
  setup.relays = 2;
  setup.producers = 1;
  setup.rows_max = 3;
  setup.think_max = millisecond;
  setup.safety_phase = 20 * second;
  setup.troubles_max = troubles;
  auto& config = setup.config;
  config.name = "p";
  config.batch_rows = 2;
  config.commit_every = 2;
  config.max_crashes = 2;
  config.max_attempts = 2;
  config.backoff = {milliseconds{10}, milliseconds{20}, milliseconds{20}};
  config.handler_deadline = milliseconds{500};
  config.poll_interval_max = milliseconds{200};
  config.standby_interval = milliseconds{200};
  config.lease = milliseconds{600};
  return setup;
}

Walk walk(const Setup& setup) {
  Walk walked;
  Choices choices;
  do {
    const auto violation = run(setup, choices).violation;
    ++walked.runs;
    if (!violation) continue;
    walked.story = violation->rule + ": " + violation->text + "\nchoices " + choices.text();
    auto again = choices.again();
    *walked.story += "\n" + tell(setup, violation->at, &again);
    break;
  } while (choices.next());
  return walked;
}

void hold_in_all(const Setup& setup) {
  const auto walked = walk(setup);
  if (walked.story) FAIL("breaks ", *walked.story);
  MESSAGE(walked.runs, " runs");
  CHECK(walked.runs > 1'000);
}

/// Two rows a call in one order, row by row in the other; and each row a batch, the next one read
/// ahead, so that it may start with the commit before it.
void hold(Setup setup) {
  setup.order = OrderBy::created_at;
  hold_in_all(setup);
  setup.order = OrderBy::id;
  setup.config.commit_every = 1;
  hold_in_all(setup);
  setup.config.batch_rows = 1;
  setup.config.read_ahead = true;
  hold_in_all(setup);
}

/// A space in which nothing is ever caught proves nothing.
void must_be_caught(Setup setup, Sabotage sabotage, const std::string& rule,
                    core::Mutant mutant = core::Mutant::none) {
  setup.sabotage = sabotage;
  core::active_mutant = mutant;
  const auto walked = walk(setup);
  core::active_mutant = core::Mutant::none;
  REQUIRE(walked.story);
  MESSAGE("caught by run ", walked.runs, ": ", walked.story->substr(0, walked.story->find('\n')));
  CHECK(rule.find(walked.story->substr(0, walked.story->find(':'))) != std::string::npos);
}

unsigned depth() {
  return static_cast<unsigned>(number_from_environment("SERIATIM_SIM_DEPTH", 2));
}

constexpr double tried = 0.5;  ///< above 0: every way is gone, whatever the probability

Setup relays_that_die(unsigned troubles) {
  auto setup = three_rows(troubles);
  setup.killed = setup.vanished = setup.frozen = setup.stopped = setup.ended = setup.cut_off =
      tried;
  return setup;
}

Setup answers_that_are_lost(unsigned troubles) {
  auto setup = three_rows(troubles);
  setup.answer_lost = setup.killed = tried;
  return setup;
}

Setup operators_that_act(unsigned troubles) {
  auto setup = three_rows(troubles);
  setup.act_at_step = setup.killed = setup.retry_later = setup.unknown = setup.poison = tried;
  return setup;
}

/// Rows 1 and 3 are of one key, row 2 of another; people redrive and discard as well as skip.
Setup rows_that_are_parked(unsigned troubles) {
  auto setup = three_rows(troubles);
  setup.config.on_poison = OnPoison::park_key;
  setup.keys = 2;
  setup.keys_by_turns = true;
  setup.act_at_step = setup.killed = setup.poison = tried;
  return setup;
}

}  // namespace

TEST_SUITE("every place for a few troubles: three rows, two relays") {
  TEST_CASE("relays killed, frozen, stopped and cut off at any two steps break no promise") {
    hold(relays_that_die(depth()));
  }
  TEST_CASE("answers lost at any two statements, with a relay killed, break no promise") {
    hold(answers_that_are_lost(depth()));
  }
  TEST_CASE("operators at any step, with failures of the receiver, break no promise") {
    hold(operators_that_act(depth()));
  }
  TEST_CASE("rows parked and decided on at any step, with a relay killed, break no promise") {
    hold_in_all(rows_that_are_parked(depth()));  // two rows a call
  }
  TEST_CASE("each guard is needed") {
    must_be_caught(relays_that_die(2), Sabotage::no_epoch_check, "P2 P3 P5");
    must_be_caught(relays_that_die(2), Sabotage::lease_too_short, "P2 P5");
    must_be_caught(relays_that_die(2), Sabotage::none, "P5", core::Mutant::late_call);
    must_be_caught(relays_that_die(2), Sabotage::call_on_dead_session, "P5");
    must_be_caught(relays_that_die(1), Sabotage::advance_before_delivery, "P6");
    must_be_caught(answers_that_are_lost(1), Sabotage::cursor_not_reread, "P3 P6");
    must_be_caught(operators_that_act(1), Sabotage::failure_overtaken, "P4");
    must_be_caught(rows_that_are_parked(2), Sabotage::act_ignores_call, "P2 P3 P5");
    must_be_caught(operators_that_act(1), Sabotage::hold_ignored, "turn");
    must_be_caught(rows_that_are_parked(1), Sabotage::queue_not_written, "P1 P6");
    must_be_caught(rows_that_are_parked(2), Sabotage::keys_not_reloaded, "P4 P6");
  }
}

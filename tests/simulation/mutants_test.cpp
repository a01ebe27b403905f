// A checker that never fails proves nothing: the code is broken on purpose, and must be caught.
#include <doctest/doctest.h>

#include "simulation/seeds.hpp"

using namespace seriatim::simulation;
using seriatim::core::active_mutant;
using seriatim::core::Mutant;

namespace {

struct Broken {
  Mutant mutant = Mutant::none;
  Sabotage sabotage = Sabotage::none;
};

/// What a seed comes to with the code broken so. The mutant is alive for this one run.
Result run_broken(Setup setup, const Broken& broken) {
  setup.sabotage = broken.sabotage;
  active_mutant = broken.mutant;
  auto result = run(setup);
  active_mutant = Mutant::none;
  return result;
}

/// Seeds are tried until one is caught by one of `rules`; unbroken, that seed holds. `change` makes
/// something of what was drawn.
void must_be_caught(const Broken& broken, Profile profile, std::uint64_t seeds_max,
                    const std::string& rules, void (*change)(Setup&) = nullptr) {
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    auto setup = draw_setup(seed, profile);
    if (change != nullptr) change(setup);
    const auto caught = run_broken(setup, broken).violation;
    if (!caught) continue;
    const auto control = run(setup).violation;
    CAPTURE(seed);
    CAPTURE(caught->text);
    MESSAGE("caught by seed ", seed, ": ", caught->rule, ": ", caught->text);
    CHECK_MESSAGE(rules.find(caught->rule) != std::string::npos, "caught by ", caught->rule,
                  ", expected one of ", rules);
    CHECK_MESSAGE(!control,
                  "the same seed must hold unbroken: ", control ? story(setup, *control) : "");
    return;
  }
  FAIL("not caught within ", seeds_max, " seeds");
}

/// Nothing but the server's clock puts rows behind the cursor.
void clocks_alone(Setup& setup) {
  setup.astray = 0;
  setup.rewinds = false;
  setup.clock_tick = 1;
  setup.clock_leap = 2 * second;
}

/// Cut to larger ticks the clock's own step back may be taken for a leap first.
void fine_clock(Setup& setup) {
  setup.clock_tick = 1;
}

/// Many rows one after another, by holders that freeze between any two steps.
void frozen_often(Setup& setup) {
  setup.config.commit_every = 1;
  setup.config.batch_rows = 50;
  setup.frozen = 0.02;
}

/// Batch upon batch of rows that a crash of the server may take back, and crashes.
void rows_lost_often(Setup& setup) {
  setup.config.read_ahead = true;
  setup.config.batch_rows = setup.config.commit_every = 1;
  setup.think_max = 3 * millisecond;
  setup.long_transaction = setup.killed = setup.frozen = 0;
  setup.async_commit = 1;
  setup.crash_in_call = 0.05;
}

/// Rows that are safe, starts that are not, and parked rows asked for again and again.
void starts_undone_often(Setup& setup) {
  setup.config.batch_rows = setup.config.commit_every = 4;
  setup.async_commit = 0;
  setup.crash_in_call = 0.05;
}

/// … and sessions, between the start of a batch and its call.
void sessions_lost_too(Setup& setup) {
  rows_lost_often(setup);
  setup.config.batch_rows = setup.config.commit_every = 12;
  setup.answer_lost = 0.1;
  setup.crash_in_call = 0.2;
}

/// Late rows go out, and keys are parked.
void late_rows_of_few_keys(Setup& setup) {
  setup.order = seriatim::OrderBy::created_at;
  setup.config.on_poison = seriatim::OnPoison::park_key;
  setup.config.max_parked = 0;
  setup.lookback = 3 * second;
  setup.astray = 0.5;
  setup.drain_at_end = false;
  setup.rewinds = setup.on_poison_changes = false;
  setup.keys = 2;
  setup.keyless = 0;
}

/// Rows by id, a few at a time, that come with the commit before them.
void behind_commits(Setup& setup) {
  setup.order = seriatim::OrderBy::id;
  setup.asks_behind = true;
  setup.config.read_ahead = false;
  setup.config.batch_rows = setup.config.commit_every = 2;
}

/// Calls of several rows that fail, while people act all the time, and nothing else fails.
void acts_amid_calls(Setup& setup) {
  setup.config.commit_every = 5;
  setup.config.batch_rows = 20;
  setup.retry_later = 0.05;
  setup.faults = false;
  setup.answer_lost = setup.killed = setup.vanished = setup.frozen = 0;
  setup.operator_act = millisecond;
}

void late_rows_delivered(Setup& setup) {
  setup.order = seriatim::OrderBy::created_at;
  setup.astray = 0.5;
  setup.lookback = 2 * second;
}

void late_rows_in_small_batches(Setup& setup) {
  late_rows_delivered(setup);
  setup.lookback = 300 * millisecond;
  setup.astray_max = 300 * millisecond;
  setup.config.batch_rows = 1;
  setup.config.commit_every = 1;
}

/// … and are tried again and again, while the auditor checks.
void late_rows_tried_again(Setup& setup) {
  late_rows_delivered(setup);
  setup.lookback = 100 * millisecond;
  setup.astray_max = 100 * millisecond;
  setup.retry_later = 0.5;
}

/// Operators take the cursor back, again and again.
void late_rows_delivered_again(Setup& setup) {
  late_rows_delivered(setup);
  setup.lookback = 300 * millisecond;
  setup.rewinds = true;
}

/// Who fix and skip at once, among long transactions.
void busy_people(Setup& setup) {
  setup.astray = 0.2;
  setup.clock_leap = 0;
  setup.lookback = 0;
  setup.rewinds = false;
  setup.long_transaction = 0.5;
  setup.operator_act = 30 * millisecond;
}

/// Auditors that are slow to act on what they found, while people take the cursor back and the same
/// rows are delivered again.
void auditors_held_up(Setup& setup) {
  setup.faults = true;
  setup.astray = 0.3;
  setup.lookback = 0;
  setup.clock_leap = 0;
  setup.rewinds = true;
  setup.operator_act = 100 * millisecond;
}

/// Rows of few keys fail alone, with people who decide on them at once.
void keys_parked(Setup& setup) {
  setup.config.on_poison = seriatim::OnPoison::park_key;
  setup.config.max_parked = 0;
  setup.on_poison_changes = false;
  setup.poison = 0.15;
  setup.keys = 3;
  setup.operator_act = 60 * millisecond;
}

/// … while rows before others of their key are tried for long, and people come by seldom.
void keys_parked_amid_retries(Setup& setup) {
  keys_parked(setup);
  setup.keys = 2;
  setup.retry_later = 0.4;
  setup.operator_act = second;
}

/// … and relays die, and statements of sessions given up land late.
void keys_parked_amid_faults(Setup& setup) {
  keys_parked(setup);
  setup.faults = true;
  setup.retry_later = 0.1;
  setup.killed = setup.answer_lost = 0.01;
}

}  // namespace

TEST_SUITE("mutants of the fence") {
  TEST_CASE("without the fence, rows of later commits are overtaken") {
    must_be_caught({.mutant = Mutant::no_fence}, Profile::producers, 50, "P2 P1");
  }
  TEST_CASE("<= for < at the fence loses a sibling of the same microsecond") {
    must_be_caught({.mutant = Mutant::settled_inclusive}, Profile::producers, 2'000, "P2 P1");
  }
  TEST_CASE("a prepared transaction that inherits no bound is overtaken") {
    must_be_caught({.mutant = Mutant::no_inheritance}, Profile::producers, 500, "P2 P1");
  }
  TEST_CASE("one prepared while the locks were being read is overtaken without late inheritance") {
    must_be_caught({.mutant = Mutant::no_late_inheritance}, Profile::producers, 3'000, "P2 P1");
  }
  TEST_CASE("ties dropped at the cursor are lost") {
    must_be_caught({.mutant = Mutant::ties_dropped}, Profile::producers, 200, "P1 P2 P4 P9");
  }
}

TEST_SUITE("mutants of the driver and the store") {
  TEST_CASE("rows read before they are insert_latency old are overtaken when the clock goes back") {
    must_be_caught({.sabotage = Sabotage::no_insert_latency}, Profile::producers, 2'000, "P2 P1",
                   fine_clock);
  }
  TEST_CASE("a store that does not compare epochs lets a replaced holder send") {
    must_be_caught({.sabotage = Sabotage::no_epoch_check}, Profile::everything, 3'000, "P5");
  }
  TEST_CASE("a cursor moved before delivery names rows nobody has") {
    must_be_caught({.sabotage = Sabotage::advance_before_delivery}, Profile::calm, 5, "P6");
  }
  TEST_CASE("without the durability commit a crash takes back a row already sent") {
    must_be_caught({.sabotage = Sabotage::no_durability_commit}, Profile::everything, 3'000, "P7");
  }
  TEST_CASE("a start that is undone though rows are parked gives its number to another row") {
    must_be_caught({.sabotage = Sabotage::start_forgets_parked}, Profile::parking, 3'000, "P3",
                   starts_undone_often);
  }
  TEST_CASE("a batch that starts with the commit before it needs that commit on disk") {
    must_be_caught({.sabotage = Sabotage::next_not_durable}, Profile::everything, 3'000, "P7",
                   rows_lost_often);
  }
  TEST_CASE("a batch whose attempt is counted has not started by that") {
    must_be_caught({.mutant = Mutant::start_passed_over}, Profile::everything, 10'000, "P7",
                   sessions_lost_too);
  }
  TEST_CASE("an operator's act that does not wait for the call in flight repeats its rows") {
    must_be_caught({.sabotage = Sabotage::act_ignores_call}, Profile::parking, 3'000, "P3 P5",
                   acts_amid_calls);
  }
  TEST_CASE("of rows that came with a commit those above a hole wait for the fence") {
    must_be_caught({.sabotage = Sabotage::behind_hole_passed}, Profile::producers, 200, "P1 P2",
                   behind_commits);
  }
  TEST_CASE("rows that came with a commit are those of the next poll alone") {
    must_be_caught({.sabotage = Sabotage::behind_kept}, Profile::everything, 500, "P1 P2 P3 P6",
                   behind_commits);
  }
  TEST_CASE("a call begun after its time is sent by a holder that was replaced") {
    must_be_caught({.mutant = Mutant::late_call}, Profile::everything, 1'000, "P5");
  }
  TEST_CASE("a call on a session that is known to be lost comes after the next holder's") {
    must_be_caught({.sabotage = Sabotage::call_on_dead_session}, Profile::everything, 1'000, "P5");
  }
  TEST_CASE("an announced call is as old as the question, not as the answer") {
    must_be_caught({.mutant = Mutant::announced_late}, Profile::everything, 3'000, "P5",
                   frozen_often);
  }
  TEST_CASE("a call announced though a person asks for a turn keeps that person waiting") {
    must_be_caught({.sabotage = Sabotage::hold_ignored}, Profile::parking, 500, "turn",
                   acts_amid_calls);
  }
  TEST_CASE("a lease that does not cover the call lets another relay come in between") {
    must_be_caught({.sabotage = Sabotage::lease_too_short}, Profile::everything, 500, "P2 P3 P5");
  }
  TEST_CASE("the judge of real runs sees what the simulation alone judges by nothing else") {
    must_be_caught({.sabotage = Sabotage::previous_id_forgotten}, Profile::calm, 20, "real");
  }
  TEST_CASE("a cursor not read again after a lost answer repeats rows it has passed") {
    must_be_caught({.sabotage = Sabotage::cursor_not_reread}, Profile::everything, 500, "P3 P6");
  }
  TEST_CASE("a batch that goes on after a failed row overtakes it") {
    must_be_caught({.sabotage = Sabotage::failure_overtaken}, Profile::everything, 200, "P4");
  }
}

TEST_SUITE("mutants of the sharing of lanes") {
  TEST_CASE("a lane given up before what it delivered is committed repeats rows without a fault") {
    must_be_caught({.mutant = Mutant::given_up_mid_batch}, Profile::sharing, 50, "P2 P3");
  }
  TEST_CASE("a claim granted though another holds the lane takes it from a healthy holder") {
    must_be_caught({.sabotage = Sabotage::held_lane_granted}, Profile::sharing, 50, "P5");
  }
  TEST_CASE("a lease that has passed by the server's clock alone, which was set, is no lease") {
    must_be_caught({.sabotage = Sabotage::server_clock_alone}, Profile::meddling, 200, "P5",
                   [](Setup& setup) {
                     clocks_alone(setup);
                     setup.operator_act = 0;
                   });
  }
}

TEST_SUITE("mutants of the audit and of operators' acts") {
  TEST_CASE("without the audit a row behind the cursor is lost in silence") {
    must_be_caught({.sabotage = Sabotage::no_audit}, Profile::meddling, 20, "P1 P9");
  }
  TEST_CASE("without the audit a clock set back loses rows in silence") {
    must_be_caught({.sabotage = Sabotage::no_audit}, Profile::meddling, 100, "P1 P9", clocks_alone);
  }
  TEST_CASE("an audit of the newest rows alone loses one put further back") {
    must_be_caught({.sabotage = Sabotage::newest_audited}, Profile::meddling, 200, "P1 P9");
  }
  TEST_CASE("an auditor that does not compare under the lock halts for a row delivered meanwhile") {
    must_be_caught({.sabotage = Sabotage::audit_not_compared}, Profile::meddling, 2'000, "P9",
                   auditors_held_up);
  }
  TEST_CASE("an auditor that takes rows which are aside, and go out, for late halts for them") {
    must_be_caught({.sabotage = Sabotage::aside_taken_for_late}, Profile::meddling, 2'000, "P4 P9",
                   late_rows_tried_again);
  }
  TEST_CASE("ids noted after the cursor's commit, not with it, are taken for late") {
    must_be_caught({.sabotage = Sabotage::ledger_after_commit}, Profile::meddling, 500, "P3 P9");
  }
  TEST_CASE("a late row set aside but not noted halts the lane again") {
    must_be_caught({.sabotage = Sabotage::late_row_not_noted}, Profile::meddling, 100, "P6 P9");
  }
  TEST_CASE("a late row set aside must not take the cursor with it") {
    must_be_caught({.sabotage = Sabotage::late_row_moves_cursor}, Profile::meddling, 100, "P6");
  }
  TEST_CASE("a row given a new place and skipped there untried takes the cursor past others") {
    must_be_caught({.sabotage = Sabotage::late_row_counts_as_tried}, Profile::meddling, 3'000, "P6",
                   busy_people);
  }
  TEST_CASE("a jump that does not wait for open transactions passes their rows") {
    must_be_caught({.sabotage = Sabotage::jump_not_settled}, Profile::meddling, 200, "P6");
  }
  TEST_CASE("a jump that is not in the ledger: what it set aside halts the lane, or goes out") {
    must_be_caught({.sabotage = Sabotage::jump_not_noted}, Profile::meddling, 100, "P3 P9");
  }
  TEST_CASE("a rewind that leaves a holder's epoch valid lets it send what it has in flight") {
    must_be_caught({.sabotage = Sabotage::rewind_keeps_epoch}, Profile::meddling, 500, "P2 P3 P6");
  }
}

TEST_SUITE("mutants of the delivery of late rows") {
  TEST_CASE("a plan kept by the session alone lets a late row come before the one in flight") {
    must_be_caught({.sabotage = Sabotage::plan_not_kept}, Profile::meddling, 500, "P3 P4",
                   late_rows_delivered);
  }
  TEST_CASE("a plan that is not read before the first row is delivered lets another be the first") {
    must_be_caught({.sabotage = Sabotage::plan_not_read_at_first}, Profile::meddling, 500, "P3 P4",
                   late_rows_delivered);
  }
  TEST_CASE("a plan kept through a rewind sends rows before the place") {
    must_be_caught({.sabotage = Sabotage::plan_outlives_rewind}, Profile::meddling, 500,
                   "P2 P4 P6 P9", late_rows_delivered);
  }
  TEST_CASE("rows after the cursor that go out before those that were started overtake them") {
    must_be_caught({.sabotage = Sabotage::due_overtaken}, Profile::meddling, 500, "P1 P3 P4",
                   late_rows_delivered);
  }
  TEST_CASE("a check that is no complete one and counts forgets rows that it did not put aside") {
    must_be_caught({.sabotage = Sabotage::late_row_forgotten}, Profile::meddling, 4'000, "P9",
                   late_rows_in_small_batches);
  }
  TEST_CASE("a late row of a parked key queues behind the rows of its key") {
    must_be_caught({.mutant = Mutant::late_row_goes_on}, Profile::parking, 2'000, "P4 P1",
                   late_rows_of_few_keys);
  }
  TEST_CASE("a late row delivered but not noted is delivered again") {
    must_be_caught({.sabotage = Sabotage::late_delivery_not_noted}, Profile::meddling, 100,
                   "P3 P6 P9", late_rows_delivered);
  }
  TEST_CASE("a late row delivered must not take the cursor with it") {
    must_be_caught({.sabotage = Sabotage::late_delivery_moves_cursor}, Profile::meddling, 100, "P6",
                   late_rows_delivered);
  }
  TEST_CASE("a window counted from the cursor misses rows when it leaps") {
    must_be_caught({.sabotage = Sabotage::window_from_cursor}, Profile::meddling, 1'000, "P9",
                   late_rows_delivered);
  }
  TEST_CASE("a window past a cursor that was taken back takes rows to come for late ones") {
    must_be_caught({.sabotage = Sabotage::window_past_cursor}, Profile::meddling, 4'000,
                   "P1 P2 P3 P4 P6 P9", late_rows_delivered_again);
  }
}

TEST_SUITE("mutants of rows set aside") {
  TEST_CASE("several calls in flight: each guard is needed") {
    must_be_caught({.mutant = Mutant::cursor_passes_undone}, Profile::flights, 50, "P6");
    must_be_caught({.mutant = Mutant::done_ahead_forgotten}, Profile::flights, 200, "P3");
    must_be_caught({.mutant = Mutant::key_overlaps}, Profile::flights, 50, "P2");
    must_be_caught({.mutant = Mutant::numbers_forgotten}, Profile::flights, 500, "P3");
    must_be_caught({.mutant = Mutant::calls_not_awaited}, Profile::flights, 2'000, "P2 P3");
    must_be_caught({.mutant = Mutant::late_call}, Profile::flights, 4'000, "P5 P2");
    must_be_caught({.sabotage = Sabotage::queue_not_written}, Profile::flights, 500, "P1 P6");
    must_be_caught({.sabotage = Sabotage::keys_not_reloaded}, Profile::flights, 1'000, "P4 P6");
  }
  TEST_CASE("a held key: each guard is needed") {
    must_be_caught({.mutant = Mutant::parked_key_goes_on}, Profile::holding, 50, "P4");
    must_be_caught({.mutant = Mutant::numbers_used_again}, Profile::holding, 2'000, "P3");
    must_be_caught({.mutant = Mutant::due_numbers_forgotten}, Profile::holding, 2'000, "P3");
    must_be_caught({.mutant = Mutant::queue_forgotten}, Profile::holding, 30'000, "P3");
    must_be_caught({.mutant = Mutant::queue_passed_by}, Profile::holding, 5'000, "P2 P4 P6");
    must_be_caught({.sabotage = Sabotage::queue_without_head}, Profile::holding, 5'000,
                   "liveness P1 P2 P4");
    must_be_caught({.sabotage = Sabotage::keys_not_reloaded}, Profile::holding, 500, "P4 P6");
    must_be_caught({.sabotage = Sabotage::queue_not_written}, Profile::holding, 50, "P1 P6");
    must_be_caught({.sabotage = Sabotage::redrive_out_of_order}, Profile::holding, 50, "P2 P3 P4");
    must_be_caught({.sabotage = Sabotage::newer_are_due_at_once}, Profile::holding, 2'000, "P4 P2");
    must_be_caught({.sabotage = Sabotage::held_never_due}, Profile::holding, 50, "liveness P1");
  }
  TEST_CASE("rows of a parked key that are handed over overtake the one that failed") {
    must_be_caught({.mutant = Mutant::parked_key_goes_on}, Profile::parking, 20, "P4", keys_parked);
  }
  TEST_CASE("rows that queue and are not written down are lost") {
    must_be_caught({.sabotage = Sabotage::queue_not_written}, Profile::parking, 20, "P1 P6",
                   keys_parked);
  }
  TEST_CASE("a holder that does not read at its claim which keys are parked lets them go on") {
    must_be_caught({.sabotage = Sabotage::keys_not_reloaded}, Profile::parking, 100, "P4 P6",
                   keys_parked);
  }
  TEST_CASE("a row set aside uses up a number") {
    must_be_caught({.sabotage = Sabotage::park_keeps_sequence}, Profile::parking, 20, "P3 P6",
                   keys_parked);
  }
  TEST_CASE("a parked row is in the ledger once, however often it is redriven") {
    must_be_caught({.sabotage = Sabotage::parked_noted_again}, Profile::parking, 50, "P6",
                   keys_parked);
  }
  TEST_CASE("a redriven row that stays parked is delivered again") {
    must_be_caught({.sabotage = Sabotage::redriven_not_taken}, Profile::parking, 50, "P2 P3 P4 P6",
                   keys_parked);
  }
  TEST_CASE("parked rows redriven in another order than they were parked in overtake each other") {
    must_be_caught({.sabotage = Sabotage::redrive_out_of_order}, Profile::parking, 50, "P2 P3 P4",
                   keys_parked);
  }
  TEST_CASE("a redrive begun while an attempt is open takes that row's number") {
    must_be_caught({.sabotage = Sabotage::redrive_while_open}, Profile::parking, 200, "P3",
                   keys_parked_amid_faults);
  }
  TEST_CASE(
      "a redrive begun that nobody knows of at a take-over leaves its number to another row") {
    must_be_caught({.sabotage = Sabotage::redrive_plan_not_kept}, Profile::parking, 500, "P3",
                   keys_parked_amid_faults);
  }
  TEST_CASE("a redriven row that fails again holds up the rows of its key") {
    must_be_caught({.sabotage = Sabotage::failed_row_alone_put_back}, Profile::parking, 100, "P4",
                   keys_parked);
  }
  TEST_CASE("rows that come while their key is redriven go out with it") {
    must_be_caught({.sabotage = Sabotage::queue_does_not_inherit}, Profile::parking, 1'000,
                   "P1 liveness", keys_parked_amid_retries);
  }
  TEST_CASE("a discarded row that was begun keeps its number") {
    must_be_caught({.sabotage = Sabotage::discard_keeps_sequence}, Profile::parking, 500, "P3",
                   keys_parked_amid_faults);
  }
  TEST_CASE("a holder that does not learn of a discard goes on setting rows of the key aside") {
    must_be_caught({.sabotage = Sabotage::discard_keeps_epoch}, Profile::parking, 200,
                   "P2 P3 P4 P6", keys_parked);
  }
}

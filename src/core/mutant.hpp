#pragma once

namespace seriatim::core {

/// Ways to break the product on purpose. The simulation and `seriatim_hooked` turn them on one by
/// one and must catch each; other builds do not contain them (mutant() is then a constant false).
enum class Mutant {
  none,
  no_fence,
  settled_inclusive,
  no_inheritance,
  no_late_inheritance,
  ties_dropped,
  no_epoch,               ///< a holder that was replaced does not learn of it
  parked_key_goes_on,     ///< rows of a parked key are handed over
  given_up_mid_batch,     ///< a lane is left to others before what it delivered is committed
  never_given_up,         ///< … or never
  start_passed_over,      ///< a batch whose attempt is counted is taken for one that was started
  late_row_goes_on,       ///< … if they are late
  late_call,              ///< a call is begun though another may hold the lane by then
  announced_late,         ///< an announced call counts from the answer, not from the question
  no_durability,          ///< a batch is begun without the commit that makes its rows durable
  cursor_passes_undone,   ///< several calls in flight: the cursor moves over a row in flight
  done_ahead_forgotten,   ///< … what is done after the cursor is not kept
  key_overlaps,           ///< … two rows of a key at once
  numbers_forgotten,      ///< … a row in doubt gets another number after a crash
  doubtful_together,      ///< … rows that may end the process go out with others
  failure_passed,         ///< … rows after one that failed go out
  calls_not_awaited,      ///< … a lane is claimed anew while calls of before are in flight
  kept_rows_not_awaited,  ///< … rows go out before those whose numbers are kept are read again
  due_numbers_forgotten,  ///< … a due row in doubt does
  queue_forgotten,        ///< … it is not kept that a row in doubt queues
  queue_passed_by,        ///< … a row of a key whose queue is not written yet does not queue
  rate_not_kept,          ///< rows are called faster than the limits allow
  numbers_used_again,     ///< rows of a key are put back, and their numbers go to others
};

#ifdef SERIATIM_MUTANTS
inline thread_local Mutant active_mutant = Mutant::none;
inline Mutant mutant_of_all_threads = Mutant::none;  ///< set before main
inline bool mutant(Mutant m) {
  return active_mutant == m || mutant_of_all_threads == m;
}
#else
constexpr bool mutant(Mutant) {
  return false;
}
#endif

}  // namespace seriatim::core

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "seriatim/config.hpp"
#include "simulation/random.hpp"
#include "simulation/scheduler.hpp"

namespace seriatim::simulation {

/// The server may still be busy with a statement of a session that is gone.
inline constexpr Micros statement_outlives_session_max = 3 * second;

/// How much of the world misbehaves.
enum class Profile {
  calm,        ///< nothing fails; producers still overlap, relays still start and stop
  producers,   ///< … rollbacks, savepoints, two-phase commits, long transactions, coarse clocks
  everything,  ///< … failing receivers, dying and frozen relays, lost answers, crashes, operators
  meddling,  ///< … rows put behind the cursor, clocks set, operators who rewind; faults in every
             ///< other
  parking,   ///< rows that fail are set aside, alone or with their key; of the others, what may be
  sharing,   ///< the lane is given up and wanted again at any step; faults in every other
  flights,   ///< several calls in flight; of the others, what may be
  holding    ///< rows that fail for now hold their key; with one call or several, amid the others
};
[[nodiscard]] const char* to_string(Profile profile);

/// Ways to break the simulated driver or store on purpose: the checkers must notice each.
enum class Sabotage {
  none,
  no_epoch_check,            ///< the store does not compare epochs
  advance_before_delivery,   ///< the cursor moves, then the handler is called
  no_durability_commit,      ///< the first call does not wait for the producers' commits to be safe
  start_forgets_parked,      ///< … nor, though rows are parked, for its own start
  behind_hole_passed,        ///< rows that came with a commit go out whatever is open before them
  behind_kept,               ///< … and are kept, wherever the cursor is by then
  next_not_durable,          ///< … nor that of a batch which starts with the commit before
  act_ignores_call,          ///< an operator acts though a call is in flight
  hold_ignored,              ///< calls are announced though an operator asks for a turn
  lease_too_short,           ///< the lease of a holder with a call does not cover the call
  call_on_dead_session,      ///< … or though it knows that its connection is lost
  cursor_not_reread,         ///< a lost commit answer is taken for "not committed"
  failure_overtaken,         ///< the rest of a batch is sent though a row failed
  no_insert_latency,         ///< rows as young as a step of the clock are read
  previous_id_forgotten,     ///< the receiver is not given the id of the row before
  no_audit,                  ///< nobody checks behind the cursor
  newest_audited,            ///< … but at the newest bucket
  audit_not_compared,        ///< its act halts for what was found, whatever became of it since
  aside_taken_for_late,      ///< rows that are aside, and go out, are late to the auditor
  ledger_after_commit,       ///< ids are noted after the cursor's commit, unless its session ends
  late_row_counts_as_tried,  ///< … when it was given a new place, so that it may be skipped there
  late_row_not_noted,        ///< a late row set aside is not in the ledger
  late_row_moves_cursor,     ///< … and takes the cursor with it
  plan_not_kept,       ///< late rows delivered: what was started is forgotten with the session
  due_overtaken,       ///< … rows after the cursor go out before rows that were started
  late_row_forgotten,  ///< … a check that found more rows than a batch takes counts as complete
  plan_not_read_at_first,      ///< … is not read before the first row is delivered
  plan_outlives_rewind,        ///< … or kept though the cursor was taken elsewhere
  late_delivery_not_noted,     ///< … a late row is not in the ledger
  late_delivery_moves_cursor,  ///< … takes the cursor with it
  window_from_cursor,          ///< … is checked from the cursor, not from the last check
  window_past_cursor,          ///< … from the last check, though the cursor was taken back since
  jump_not_settled,            ///< a rewind forwards does not wait for open transactions
  jump_not_noted,              ///< … does not put what it passes into the ledger
  rewind_keeps_epoch,          ///< a rewind leaves what a holder has in flight valid
  queue_not_written,           ///< rows of a parked key are passed over and not set aside
  keys_not_reloaded,           ///< a claim does not read which keys are parked
  park_keeps_sequence,         ///< a row set aside uses up no number
  parked_noted_again,          ///< a parked row is put into the ledger again when it is redriven
  held_never_due,              ///< a held key is not tried again
  queue_without_head,          ///< a row queues though the rows before it were delivered meanwhile
  newer_are_due_at_once,       ///< … and rows that come meanwhile go out before its queue
  redriven_not_taken,          ///< … and stays parked and due though it was delivered
  redrive_out_of_order,        ///< parked rows are handed over again in the order of whim
  redrive_while_open,          ///< … while an attempt at the row after the cursor is open
  redrive_plan_not_kept,       ///< … and which one was started is forgotten with the session
  failed_row_alone_put_back,   ///< one that fails again is put back, the rows of its key go on
  queue_does_not_inherit,      ///< rows that come while their key is redriven wait for another
  discard_keeps_sequence,      ///< a discarded row that was begun leaves its number to the next
  discard_keeps_epoch,         ///< … and leaves what a holder knows of its key valid
  held_lane_granted,           ///< a claim is granted though another holds the lane and is well
  server_clock_alone,  ///< … because the server's clock, which was set, says that its lease is over
  instances_unseen,    ///< instances that share lanes do not see each other
  orphans_left         ///< … and leave a lane to one that cannot take it
};

/// Everything a run depends on, drawn from its seed.
struct Setup {
  std::uint64_t seed = 0;
  Profile profile = Profile::calm;
  Sabotage sabotage = Sabotage::none;

  OrderBy order = OrderBy::created_at;
  ProcessConfig config;
  bool hints = false;
  bool drain_at_end = false;
  unsigned relays = 2;
  unsigned producers = 3;
  Micros safety_phase = 4 * second;

  // The table
  Micros clock_tick = 1;      ///< created_at is cut to this: ties
  Micros insert_latency = 0;  ///< rows younger than this are not read
  Micros clock_step = 0;      ///< the server's clock goes back by it, forward again, and so on
  Micros clock_leap = 0;      ///< … and at times is set wrong by so much, with no regard to rows
  Micros scan_gap_max = 100;  ///< between the parts of a read of pg_locks
  unsigned rows_max = 60;
  Micros think_max = 3 * millisecond;  ///< between a producer's transactions
  double long_transaction = 0;
  double rollback = 0;
  double savepoint = 0;
  double prepare = 0;
  double async_commit = 0;
  double bad_payload = 0;
  unsigned keys = 0;               ///< so many, by chance; 0: no row has one
  double keyless = 0;              ///< per row: it has none
  bool keys_by_turns = false;      ///< … instead of by chance
  double astray = 0;               ///< per row: its place is not drawn under the lock
  Micros astray_max = 2 * second;  ///< … but so long before, or made up as far back

  Micros ahead_max = 0;  ///< … or as far ahead
  Micros lookback = 0;   ///< late_rows = "deliver", so far back; 0: they halt the lane

  // The receiver, per row
  double retry_later = 0;
  double unknown = 0;
  double poison = 0;
  double throws = 0;
  double slow = 0;
  double partial = 0;

  // The relays, per step
  double killed = 0;
  double vanished = 0;  ///< … without the server noticing
  double frozen = 0;
  double stopped = 0;
  double ended = 0;  ///< its backend, by somebody else
  double answer_lost = 0;
  double cut_off = 0;  ///< per session that the server ends: its relay does not hear of it

  double whims = 0;    ///< a lane is wanted no longer, or again
  bool fleet = false;  ///< one of many lanes, whose relays are instances (fleet.hpp)

  double crash_in_call = 0;  ///< per row: the server crashes before it is answered

  double act_at_step = 0;     ///< per step of a relay: an operator acts
  unsigned troubles_max = 0;  ///< in a space that is enumerated

  // Mean time between; 0 is never
  Micros backend_terminated = 0;
  Micros server_crash = 0;
  Micros operator_act = 0;

  bool rewinds = false;            ///< operators rewind too
  bool in_flight_changes = false;  ///< operators configure now one call at a time, now several
  bool on_poison_changes = false;  ///< … or configure now dead_letter, now park_key
  bool asks_behind = false;        ///< by id, rows come with the last commit of a round
  bool faults = false;             ///< relays, receivers or the server fail: rows may be repeated
};

/// Whether rows may be set aside.
[[nodiscard]] inline bool parks(const Setup& setup) {
  return setup.config.on_poison != OnPoison::halt;
}
/// Of row `number`, whatever becomes of it.
[[nodiscard]] std::optional<std::string> key_of(const Setup& setup, std::size_t number);

[[nodiscard]] Setup draw_setup(std::uint64_t seed, Profile profile);
[[nodiscard]] std::string describe(const Setup& setup);

}  // namespace seriatim::simulation

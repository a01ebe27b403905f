#include "simulation/checkers.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/lane.hpp"
#include "lab/judge/judge.hpp"
#include "lab/judge/rules.hpp"
#include "simulation/judge.hpp"

namespace seriatim::simulation {

using std::chrono::milliseconds;

namespace {

Micros micros(milliseconds time) {
  return std::chrono::microseconds(time).count();
}

constexpr Micros at_the_end = std::numeric_limits<Micros>::max();
constexpr Micros audit_interval = second;
/// Turns of the audit that find a row behind the cursor, next to one for each bucket of the ledger.
constexpr std::size_t turns_to_spare = 3;
constexpr std::size_t rows_a_bucket_min = 4;

}  // namespace

// --- what is known about rows and holders --------------------------------------------------------

std::pair<std::int64_t, std::int64_t> Judge::key(std::int64_t created_at, std::int64_t id) const {
  return setup_.order == OrderBy::id ? std::pair(id, id) : std::pair(created_at, id);
}

void Judge::rank_durable_rows() {
  for (std::size_t row = 0; row < seen_.rows.size(); ++row) {
    if (seen_.rows[row].committed && !seen_.rows[row].lost_at) durable_.push_back(row);
  }
  std::sort(durable_.begin(), durable_.end(),
            [&](std::size_t a, std::size_t b) { return key_of(a) < key_of(b); });
  for (std::size_t rank = 0; rank < durable_.size(); ++rank) {
    rank_of_row_[durable_[rank]] = rank;
    rank_of_id_[seen_.rows[durable_[rank]].id] = rank;
    if (row_at(rank).astray) astray_.push_back(rank);
  }
  fate_.assign(durable_.size(), {});
  extend_prefixes();
}

/// How many rows are at or before a place.
std::size_t Judge::ranks_up_to(const std::optional<Position>& place) const {
  if (!place) return 0;
  const auto end = key(place->created_at_us, std::stoll(place->id));
  const auto within = [&](std::size_t row) { return key_of(row) <= end; };
  return static_cast<std::size_t>(std::partition_point(durable_.begin(), durable_.end(), within) -
                                  durable_.begin());
}

std::optional<std::size_t> Judge::rank_of_id(std::int64_t id) const {
  const auto found = rank_of_id_.find(id);
  return found == rank_of_id_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> Judge::rank_of(const Attempt& attempt) const {
  const auto found = rank_of_row_.find(attempt.row);
  return found == rank_of_row_.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t Judge::epoch_at(Micros when) const {
  std::uint64_t epoch = 0;
  for (const auto& take_over : seen_.take_overs) {
    if (take_over.at <= when) epoch = take_over.epoch;
  }
  return epoch;
}

Micros Judge::announced_before(const Attempt& attempt) const {
  Micros at = 0;
  for (const auto& one : seen_.announcements) {
    if (one.at > attempt.call_begun) break;
    if (one.relay == attempt.relay && one.epoch == attempt.epoch) at = one.at;
  }
  return at;
}

bool Judge::fault_between(Micros from, Micros to) const {
  return std::any_of(seen_.faults.begin(), seen_.faults.end(),
                     [&](const auto& fault) { return fault.at >= from && fault.at <= to; });
}

bool Judge::session_of_ended(const Attempt& attempt, Micros to) const {
  const auto from = announced_before(attempt);
  return std::any_of(seen_.faults.begin(), seen_.faults.end(), [&](const auto& fault) {
    return fault.session_ended && fault.relay == attempt.relay && fault.at >= from &&
           fault.at <= to;
  });
}

/// A holder that was cut off goes by what was so when its call was announced.
Micros Judge::known_until(const Attempt& attempt) const {
  return session_of_ended(attempt, attempt.begun) ? announced_before(attempt) : attempt.begun;
}

bool Judge::gone_back_between(std::uint64_t epoch, std::uint64_t later) const {
  return std::any_of(seen_.moves.begin(), seen_.moves.end(), [&](const auto& move) {
    return move.back && move.row_epoch >= epoch && move.row_epoch < later;
  });
}

/// A row keeps its sequence number, unless an act counted a row behind it or moved the cursor, or
/// one astray came before it and went out, or is or will be set aside, or it was put back with the
/// rows of its key. A holder that was replaced
/// before it called numbered its row when its call was announced.
bool Judge::renumbered_between(const Attempt& attempt, const Attempt& later) const {
  const auto from = std::min(attempt.epoch, later.epoch);
  const auto to = std::max(attempt.epoch, later.epoch);
  const bool replaced = later.epoch < attempt.epoch;
  const auto since = replaced ? announced_before(later) : attempt.begun;
  const auto until = replaced ? attempt.begun : later.begun;
  const bool by_act = std::any_of(seen_.moves.begin(), seen_.moves.end(), [&](const auto& move) {
    const bool renumbers = move.by == Evidence::Move::By::rewind ||
                           (move.by == Evidence::Move::By::skip && move.to == move.from) ||
                           (move.by == Evidence::Move::By::discard && move.unused > 0);
    return move.by != Evidence::Move::By::holder && renumbers && move.row_epoch >= from &&
           move.row_epoch < to;
  });
  const auto between = [&](Micros at) { return at >= since && at <= until; };
  const auto rank = rank_of(later);
  const auto put_back_with = [&](const auto& p) {  // another row of its key that failed
    const auto failed = rank_of_id(p.id);
    return p.failed && p.holds_key && rank && failed && row_key(*failed) == row_key(*rank);
  };
  const bool by_parking = std::any_of(seen_.parked.begin(), seen_.parked.end(), [&](const auto& p) {
    return (p.id == later.id || put_back_with(p)) &&
           (between(p.at) || (p.epoch >= from && p.epoch < to));
  });
  // A row that was aside itself says that it is late.
  if (by_parking && later.late) return true;
  if (by_act || delivers_late()) return by_act;
  return std::any_of(astray_.begin(), astray_.end(), [&](std::size_t astray) {
    const auto& handled = fate_[astray].handled_at;
    const bool set_aside =
        std::any_of(seen_.parked.begin(), seen_.parked.end(),
                    [&](const auto& p) { return p.id == row_at(astray).id && between(p.at); }) ||
        (row_at(astray).visible_at <= until && fate_[astray].parked_as == 0 && key_is_held(astray));
    return rank && astray < *rank && (set_aside || (handled && between(*handled)));
  });
}

std::string Judge::name(const Attempt& attempt) const {
  return "row " + std::to_string(attempt.id) + " (sequence " + std::to_string(attempt.sequence) +
         ", relay " + std::to_string(attempt.relay) + ", epoch " + std::to_string(attempt.epoch) +
         ")";
}

// --- P7, and what an id names (P3) ---------------------------------------------------------------

void Judge::check_durability() {
  for (const auto& attempt : seen_.attempts) {
    if (seen_.rows[attempt.row].lost_at) {
      breach("P7", attempt.begun, name(attempt) + " was sent, then lost by a crash");
    }
  }
}

// --- P2: overlap ---------------------------------------------------------------------------------
/// Two calls at once: only if the elder's session was ended, or its call outlived its deadline.
void Judge::check_overlaps() {
  lab::judge_overlaps(
      seen_.attempts,
      [&](const Attempt& other, const Attempt& attempt) {
        const auto& elder = other.epoch < attempt.epoch ? other : attempt;
        const auto deadline = elder.call_begun + micros(setup_.config.handler_deadline);
        if (several() && !same_key(other, attempt)) return true;
        return other.epoch != attempt.epoch &&
               (session_of_ended(elder, attempt.begun) || attempt.begun > deadline);
      },
      [&](const Attempt& other, const Attempt& attempt) {
        breach("P2", attempt.begun, name(attempt) + " is sent while " + name(other) + " is");
      });
}

// --- P3: repeats ---------------------------------------------------------------------------------

void Judge::check_repeats() {
  std::map<std::int64_t, const Attempt*> accepted;
  for (const auto& attempt : seen_.attempts) {
    if (undisturbed() && attempt.attempt != 1) {
      breach(
          "P3", attempt.begun,
          name(attempt) + " is attempt " + std::to_string(attempt.attempt) + " at the first call");
    }
    const auto earlier = accepted.find(attempt.id);
    const bool repeats = earlier != accepted.end() && earlier->second->ended <= attempt.begun &&
                         !gone_back_between(earlier->second->epoch, attempt.epoch);
    if (repeats) {
      const auto since = std::min(announced_before(*earlier->second), announced_before(attempt));
      if (!fault_between(since, attempt.begun)) {
        breach("P3", attempt.begun, name(attempt) + " is repeated, and nothing had failed");
      }
    }
    if (attempt.accepted) accepted[attempt.id] = &attempt;
  }
}

// --- P5: one holder ------------------------------------------------------------------------------

void Judge::check_holders() {
  lab::judge_epochs(
      seen_.attempts, seen_.take_overs,
      [this](const Attempt& attempt) { return may_come_late(attempt); },
      [this](const Attempt& attempt) {
        breach("P5", attempt.begun,
               name(attempt) + " is sent by a holder that was replaced, " +
                   std::to_string(attempt.begun - announced_before(attempt)) +
                   " µs after it was announced");
      });
  lab::judge_claims(seen_.take_overs, [this](const auto& claim, const auto&) {
    breach("P5", claim.at, "epoch " + std::to_string(claim.epoch) + " is given out a second time");
  });
  for (const auto& attempt : seen_.attempts) {
    if (attempt.epoch <= epoch_at(attempt.begun)) continue;
    breach("P5", attempt.begun, name(attempt) + " is sent under an epoch nobody was given");
  }
  for (const auto& move : seen_.moves) {
    if (move.mover_epoch != move.row_epoch) {
      breach("P5", move.at,
             "the cursor was moved by epoch " + std::to_string(move.mover_epoch) + " in epoch " +
                 std::to_string(move.row_epoch));
    }
  }
  const auto changes = std::count_if(seen_.take_overs.begin(), seen_.take_overs.end(),
                                     [](const auto& t) { return t.relay != 0; });
  if (undisturbed() && static_cast<std::size_t>(changes) > seen_.releases.size() + 1) {
    breach("P5", seen_.take_overs.back().at, "the lane changed hands though its holder was well");
  }
}

/// A person who asks for a turn waits for the calls that were announced, and for no others.
void Judge::check_turns() {
  if (setup_.clock_leap > 0) return;  // which may end a turn before its time
  auto announced = seen_.announcements.begin();
  for (const auto& hold : seen_.holds) {
    while (announced != seen_.announcements.end() && announced->at <= hold.at) ++announced;
    if (announced == seen_.announcements.end() || announced->at >= hold.until) continue;
    breach("turn", announced->at, "a call is announced though a person asks for a turn");
  }
}

/// A holder whose session was ended may begin calls until it knows that; if it was cut off, within
/// call_begin_max of announcing them. So may one with several calls in flight: those that wait for
/// others to end are not asked about the session.
bool Judge::may_come_late(const Attempt& attempt) const {
  const auto announced = announced_before(attempt);
  return std::any_of(seen_.faults.begin(), seen_.faults.end(), [&](const auto& fault) {
    const bool ended = fault.session_ended && fault.relay == attempt.relay &&
                       fault.at >= announced && fault.at <= attempt.begun;
    const auto until = fault.unheard || several() ? announced + micros(core::Lane::call_begin_max)
                                                  : fault.at + loss_known_within;
    return ended && attempt.begun <= until;
  });
}

// --- P9: what cannot be seen beforehand halts, and nothing else does -----------------------------

/// Where nothing fails, a row behind the cursor is found within a turn of the audit for each bucket
/// there may be; a halt or another holder begins the count anew.
void Judge::check_audit() {
  if (setup_.faults) return;
  for (const auto rank : astray_) {
    if (fate_[rank].passed_at) check_audit_of(rank);
  }
}

void Judge::check_audit_of(std::size_t rank) {
  const auto acts = std::count_if(seen_.moves.begin(), seen_.moves.end(), [](const auto& move) {
    return move.by != Evidence::Move::By::holder;
  });
  const auto turns_max =
      durable_.size() / rows_a_bucket_min + static_cast<std::size_t>(acts) + turns_to_spare;
  const auto& fate = fate_[rank];
  auto since = std::max(*fate.passed_at, row_at(rank).visible_at);
  std::size_t turns = 0;
  const auto begins_anew = [&](const auto& seen, Micros until) {
    return std::any_of(seen.begin(), seen.end(),
                       [&](const auto& e) { return e.at > since && e.at <= until; });
  };
  for (const auto at : seen_.audits) {
    if (fate.handled_at && at >= *fate.handled_at) return;
    if (at < since + 2 * audit_interval) continue;
    turns = begins_anew(seen_.halts, at) || begins_anew(seen_.take_overs, at) ? 0 : turns + 1;
    since = at;
    if (turns <= turns_max) continue;
    return breach("P9", at, "row " + id_at(rank) + " behind the cursor was not found");
  }
}

// --- P1 ------------------------------------------------------------------------------------------

void Judge::check_nothing_lost() {
  for (std::size_t rank = 0; rank < durable_.size(); ++rank) {
    if (fate_[rank].handled_at) continue;
    return breach("P1", at_the_end, "row " + id_at(rank) + " was neither delivered nor set aside");
  }
}

// --- all of it again, by the judge of real runs --------------------------------------------------

/// Nobody acted, no row is astray, and no call that comes late sends more than one row.
bool Judge::is_plain() const {
  return !several() && setup_.operator_act == 0 && seen_.skips.empty() && setup_.astray == 0 &&
         setup_.clock_leap == 0 && !parks(setup_) &&
         (!setup_.faults || setup_.config.commit_every == 1);
}

/// What is late and what overlaps is judged above, by what this run is known to excuse.
void Judge::check_as_of_a_real_run() {
  lab::Evidence run;
  for (const auto row : durable_) run.committed.push_back(seen_.rows[row]);
  run.calls.assign(seen_.attempts.begin(), seen_.attempts.end());
  run.claims[0].assign(seen_.take_overs.begin(), seen_.take_overs.end());
  run.cursors[0].sequence = cursor_sequence_;
  if (!seen_.moves.empty() && seen_.moves.back().to) {
    run.cursors[0].position_id = std::stoll(seen_.moves.back().to->id);
  }
  run.repeats_allowed = setup_.faults ? seen_.attempts.size() : 0;
  run.zombies_allowed = setup_.faults;
  const auto verdict = lab::judge(run);
  for (const auto& [kind, found] : verdict.kinds()) {
    const bool judged_above = kind == "stale_epochs" || kind == "overlapping";
    if (!found->empty() && !judged_above) breach("real", at_the_end, kind + ' ' + found->front());
  }
}

std::optional<Violation> judge(const Setup& setup, const Evidence& evidence, bool at_rest) {
  return Judge(setup, evidence).verdict(at_rest);
}

}  // namespace seriatim::simulation

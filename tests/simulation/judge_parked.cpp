// Rows set aside: the order within their key, what may be attempted meanwhile, and their numbers.
#include <algorithm>

#include "simulation/judge.hpp"

namespace seriatim::simulation {

/// Rows without a key are rows of one key.
bool Judge::queues_with(std::size_t rank, std::size_t other) const {
  const auto& fate = fate_[other];
  return fate.parked_as > 0 && fate.holds_key && row_key(rank) == row_key(other);
}

bool Judge::key_is_held(std::size_t rank) const {
  for (std::size_t other = 0; other < fate_.size(); ++other) {
    if (other != rank && queues_with(rank, other)) return true;
  }
  return false;
}

bool Judge::key_was_held(std::size_t rank, Micros when) const {
  if (key_is_held(rank)) return true;
  for (std::size_t other = 0; other < fate_.size(); ++other) {
    const auto& until = fate_[other].parked_until;
    const bool held = fate_[other].holds_key && until && *until >= when;
    if (other != rank && held && row_key(rank) == row_key(other)) return true;
  }
  return false;
}

/// By its call, or (`failed` is false) without one, behind the rows of its key.
void Judge::on_parked(const Evidence::Parked& parked) {
  const auto rank = rank_of_id(parked.id);
  const auto what = "row " + std::to_string(parked.id);
  if (!rank) return breach("P6", parked.at, what + " is parked, which is no durable row");
  auto& fate = fate_[*rank];
  if (!parked.failed) return on_queued(parked, *rank);
  const bool may_do_nothing = setup_.partial > 0;  // and give up at that
  if (!fate.attempted_at && !may_do_nothing)
    breach("P6", parked.at, what + " is parked and was not attempted");
  if (fate.parked_as == 0) {
    fate.parked_as = ++parked_rows_;
    fate.holds_key = parked.holds_key;
    fate.dead_letter = fate.dead_letter || !parked.holds_key;
  }
  fate.attempted_at.reset();
  fate.due = fate.accepted_again = false;
  if (fate.holds_key) {
    for (std::size_t other = 0; other < fate_.size(); ++other) {
      if (queues_with(*rank, other)) fate_[other].due = fate_[other].accepted_again = false;
    }
  }
  extend_prefixes();
}

void Judge::on_queued(const Evidence::Parked& parked, std::size_t rank) {
  auto& fate = fate_[rank];
  const auto what = "row " + id_at(rank);
  if (fate.parked_as > 0 || fate.noted) breach("P6", parked.at, what + " queues a second time");
  // With several calls in flight the rows before it may be delivered after it was read.
  if (!key_is_held(rank) && !several()) breach("P6", parked.at, what + " queues behind nothing");
  for (std::size_t other = 0; other < fate_.size(); ++other) {
    if (!queues_with(rank, other)) continue;
    fate.due = fate.due || fate_[other].due;
    if (other > rank && !row_at(other).astray && !row_at(rank).astray) {
      breach("P2", parked.at, what + " queues behind row " + id_at(other));
    }
  }
  fate.parked_as = ++parked_rows_;
  fate.holds_key = true;
  fate.attempted_at.reset();
  extend_prefixes();
}

void Judge::on_discarded(const Evidence::Skip& discard) {
  const auto rank = rank_of_id(discard.id);
  if (!rank) return;
  if (fate_[*rank].parked_as == 0) breach("P6", discard.at, "a row is discarded, and not parked");
  on_handled(rank, discard.at);
  fate_[*rank].parked_as = 0;
  fate_[*rank].parked_until = discard.at;
  fate_[*rank].attempted_at.reset();
}

void Judge::on_redriven(const Evidence::Redrive& redrive) {
  const auto named = redrive.id ? rank_of_id(*redrive.id) : std::nullopt;
  for (std::size_t rank = 0; rank < fate_.size(); ++rank) {
    auto& fate = fate_[rank];
    if (fate.parked_as == 0) continue;
    const bool with_named =
        named &&
        (rank == *named || (!redrive.alone && fate.holds_key && queues_with(rank, *named)));
    const bool of_key = redrive.key && redrive.key == row_key(rank);
    if (with_named || of_key || (!redrive.id && !redrive.key)) fate.due = true;
  }
}

/// Its number is used up; it is done, or was put back at the same moment.
void Judge::on_handed_over_again(const Evidence::Move& move, std::int64_t id,
                                 const std::string& what) {
  const auto rank = rank_of_id(id);
  const auto row = "row " + std::to_string(id);
  if (!rank) return breach("P6", move.at, what + " with " + row + ", which is no durable row");
  auto& fate = fate_[*rank];
  fate.attempted_at.reset();
  const bool gone = move.by == Evidence::Move::By::discard;
  const bool put_back = std::any_of(seen_.parked.begin(), seen_.parked.end(),
                                    [&](const auto& p) { return p.id == id && p.at == move.at; });
  if (put_back || gone) return;
  if (fate.parked_as == 0) breach("P6", move.at, what + " again, and " + row + " is not parked");
  if (!fate.handled_at) breach("P6", move.at, what + " though nobody has " + row);
  fate.parked_as = 0;
  fate.accepted_again = false;
  fate.parked_until = move.at;
}

/// A row of a parked key waits; a parked one goes out when it is asked for, in the order parked.
void Judge::on_begun_by_key(const Attempt& attempt, std::size_t rank) {
  const auto& fate = fate_[rank];
  const bool parked = fate.parked_as > 0;
  if (parked && !fate.due) breach("P4", attempt.begun, name(attempt) + " is parked, nobody asked");
  if (!parked && fate.noted)
    breach("P3", attempt.begun, name(attempt) + " is sent again, and done");
  if (parked && !fate.holds_key) return;
  for (std::size_t other = 0; other < fate_.size(); ++other) {
    if (other == rank || !queues_with(rank, other)) continue;
    if (parked && fate_[other].parked_as > fate.parked_as) continue;
    if (parked && fate_[other].accepted_again) continue;
    // A late row is behind one that a receiver may have seen.
    if (several() && delivers_late() && !parked && attempt.attempt > 1) continue;
    breach("P4", attempt.begun, name(attempt) + " overtakes row " + id_at(other) + " of its key");
  }
}

/// First successes of a key are in declared order, but for dead letters.
void Judge::on_accepted_by_key(const Attempt& attempt, std::size_t rank) {
  if (fate_[rank].dead_letter) return;
  auto& up_to = successes_of_key_[row_key(rank)];
  if (rank + 1 < up_to) {
    breach("P2", attempt.ended, name(attempt) + " succeeded after a later row of its key");
  }
  up_to = std::max(up_to, rank + 1);
}

/// The next after the cursor's, but for the rows before it that queue.
void Judge::check_number(const Attempt& attempt, std::size_t rank) {
  if (attempt.sequence <= cursor_sequence_) {
    return breach("P3", attempt.begun, name(attempt) + " is sent though the cursor has passed it");
  }
  std::uint64_t queue_least = 0;
  std::uint64_t queue_most = 0;
  if (fate_[rank].parked_as == 0) {
    const bool late = rank < cursor_end_;
    for (std::size_t other = 0; other < rank; ++other) {  // late ones come before this one
      const bool queues = !fate_[other].noted && key_is_held(other);
      queue_most += queues;
      queue_least += queues && !late && other >= cursor_end_ && !row_at(other).astray;
    }
  }
  const auto first = cursor_sequence_ + 1 + attempt.place;
  if (attempt.sequence < first + queue_least || attempt.sequence > first + queue_most) {
    breach("P3", attempt.begun,
           name(attempt) + " is row " + std::to_string(attempt.place + 1) +
               " of a call after sequence " + std::to_string(cursor_sequence_));
  }
  on_numbered(attempt);
}

/// No number names two rows, and what is delivered has a higher one each time.
void Judge::on_numbered(const Attempt& attempt) {
  const auto rank = *rank_of(attempt);
  const auto [known, fresh] = rank_of_number_.try_emplace(attempt.sequence, rank);
  if (fresh || known->second == rank) return;
  const auto other = std::exchange(known->second, rank);
  if (row_at(rank).astray || row_at(other).astray || fate_[other].removed) return;
  const bool settled_rows_alone = setup_.astray == 0 && setup_.clock_leap == 0;
  if (!settled_rows_alone && fate_[rank].parked_as == 0 && fate_[other].parked_as == 0) return;
  breach("P3", attempt.begun,
         name(attempt) + " has the number row " + id_at(other) + " was sent with");
}

/// Where poison is set aside only as much of it as may be halts the lane.
void Judge::check_parked_halt(const Evidence::Halt& halt) {
  if (!parks(setup_)) return;
  const auto most = setup_.config.max_parked;
  std::size_t failed = 0;
  for (std::size_t rank = 0; rank < fate_.size(); ++rank) {
    if (fate_[rank].parked_as == 0) continue;
    bool first = true;
    for (std::size_t other = 0; other < fate_.size() && fate_[rank].holds_key; ++other) {
      first =
          first && !(queues_with(rank, other) && fate_[other].parked_as < fate_[rank].parked_as);
    }
    failed += first;
  }
  const auto rank = rank_of_id(std::stoll(halt.row_id));
  const bool parked = rank && fate_[*rank].parked_as > 0;
  if (most > 0 && failed >= most && !parked) return;
  breach("P9", halt.at,
         "poison row " + halt.row_id + " halts the lane, and could have been parked");
}

}  // namespace seriatim::simulation

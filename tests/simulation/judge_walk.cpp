// One walk through time: order (P2), identity (P3), failures (P4), the cursor (P6), halts (P9).
#include <algorithm>
#include <tuple>

#include "simulation/judge.hpp"

namespace seriatim::simulation {

std::vector<Judge::Moment> Judge::moments() const {
  std::vector<Moment> all;
  for (std::size_t i = 0; i < seen_.attempts.size(); ++i) {
    all.push_back({seen_.attempts[i].begun, Moment::Kind::begun, i});
    if (seen_.attempts[i].accepted)
      all.push_back({seen_.attempts[i].ended, Moment::Kind::accepted, i});
  }
  for (std::size_t i = 0; i < seen_.skips.size(); ++i)
    all.push_back({seen_.skips[i].at, Moment::Kind::skipped, i});
  for (std::size_t i = 0; i < seen_.removals.size(); ++i)
    all.push_back({seen_.removals[i].at, Moment::Kind::removed, i});
  for (std::size_t i = 0; i < seen_.discards.size(); ++i)
    all.push_back({seen_.discards[i].at, Moment::Kind::discarded, i});
  for (std::size_t i = 0; i < seen_.parked.size(); ++i)
    all.push_back({seen_.parked[i].at, Moment::Kind::parked, i});
  for (std::size_t i = 0; i < seen_.redrives.size(); ++i)
    all.push_back({seen_.redrives[i].at, Moment::Kind::redriven, i});
  for (std::size_t i = 0; i < seen_.moves.size(); ++i)
    all.push_back({seen_.moves[i].at, Moment::Kind::moved, i});
  for (std::size_t i = 0; i < seen_.halts.size(); ++i)
    all.push_back({seen_.halts[i].at, Moment::Kind::halted, i});
  std::sort(all.begin(), all.end());
  return all;
}

void Judge::walk_through_time() {
  for (const auto& [at, kind, index] : moments()) {
    switch (kind) {
      case Moment::Kind::accepted: on_accepted(seen_.attempts[index]); break;
      case Moment::Kind::skipped: on_handled(rank_of_id(seen_.skips[index].id), at); break;
      case Moment::Kind::discarded: on_discarded(seen_.discards[index]); break;
      case Moment::Kind::parked: on_parked(seen_.parked[index]); break;
      case Moment::Kind::redriven: on_redriven(seen_.redrives[index]); break;
      case Moment::Kind::removed: on_removed(seen_.removals[index]); break;
      case Moment::Kind::moved: on_moved(seen_.moves[index]); break;
      case Moment::Kind::begun: on_begun(seen_.attempts[index]); break;
      case Moment::Kind::halted: on_halted(seen_.halts[index]); break;
    }
  }
}

/// What a holder of before a rewind still does says nothing of the rows to be delivered again.
void Judge::on_accepted(const Attempt& attempt) {
  const auto rank = rank_of(attempt);
  if (!rank || attempt.epoch < went_back_in_) return;
  const bool first = !fate_[*rank].handled_at;
  on_handled(rank, attempt.ended);
  fate_[*rank].accepted_again = fate_[*rank].parked_as > 0 && fate_[*rank].due;
  if (!first || row_at(*rank).astray || moved_since(attempt, *rank)) return;
  if (attempt.epoch == epoch_at(attempt.ended) && !fate_[*rank].gave_way) {
    if (attempt.sequence <= highest_success_ && !several()) {
      breach("P2", attempt.ended, name(attempt) + " succeeded after a higher number");
    }
    highest_success_ = attempt.sequence;
  }
  if (several() && attempt.epoch == epoch_at(attempt.ended) && !fate_[*rank].dead_letter) {
    auto& highest = highest_of_key_[row_key(*rank)];
    // With one call in flight a start need not survive a crash of the server (docs/guarantees.md).
    const bool undone = setup_.in_flight_changes && seen_.start_undone < attempt.begun &&
                        seen_.start_undone.has_value();
    if (attempt.sequence <= highest && !undone) {
      breach("P3", attempt.ended, name(attempt) + " has no higher number than its key had before");
    }
    highest = std::max(highest, attempt.sequence);
  }
  on_accepted_by_key(attempt, *rank);
  if (several() || fate_[*rank].parked_as > 0 || fate_[*rank].gave_way)
    return;  // in the order of its key alone
  if (*rank + 1 < successes_up_to_) {
    breach("P2", attempt.ended, name(attempt) + " succeeded after a later row");
  }
  successes_up_to_ = std::max(successes_up_to_, *rank + 1);
}

void Judge::on_handled(std::optional<std::size_t> rank, Micros at) {
  if (!rank || fate_[*rank].handled_at) return;
  fate_[*rank].handled_at = at;
  extend_prefixes();
}

void Judge::on_removed(const Evidence::Skip& removal) {
  const auto rank = rank_of_id(removal.id);
  if (!rank) return;
  on_handled(rank, removal.at);
  fate_[*rank].removed = true;
}

/// A row astray may come whenever it likes.
void Judge::extend_prefixes() {
  const auto extend = [this](std::size_t& prefix, const auto& is_so) {
    while (prefix < fate_.size() && (is_so(fate_[prefix]) || row_at(prefix).astray)) ++prefix;
  };
  extend(handled_prefix_, [](const Fate& fate) { return fate.handled_at || fate.parked_as > 0; });
  extend(noted_prefix_, [](const Fate& fate) { return fate.noted; });
}

void Judge::on_moved(const Evidence::Move& move) {
  const auto what = "the cursor moved to " + (move.to ? move.to->id : "the start");
  if (move.sequence_before != cursor_sequence_) {
    breach("P6", move.at, what + " from sequence " + std::to_string(move.sequence_before));
  }
  cursor_sequence_ = move.sequence;
  if (move.by == Evidence::Move::By::rewind) {  // which takes every row out of hand
    for (auto& fate : fate_) fate.attempted_at.reset();
    rewound_in_ = move.row_epoch + 1;
  }
  if (move.by == Evidence::Move::By::skip && move.to == move.from) rank_of_number_.clear();
  if (move.back) return on_gone_back(move);
  on_done(move, what);
  const auto end = ranks_up_to(move.to);
  if (end < cursor_end_) breach("P6", move.at, what + ": not forwards");
  const auto to = move.to ? rank_of_id(std::stoll(move.to->id)) : std::nullopt;
  if (end != cursor_end_ && (!to || !fate_[*to].noted)) {
    breach("P6", move.at, what + ", which was not done");
  }
  if (noted_prefix_ < end) breach("P6", move.at, what + " before all up to it was done");
  cursor_end_ = end;
  for (const auto astray : astray_) {
    auto& fate = fate_[astray];
    if (astray < end && !fate.noted && !fate.passed_at) fate.passed_at = move.at;
  }
}

void Judge::on_done(const Evidence::Move& move, const std::string& what) {
  const bool jump = move.by == Evidence::Move::By::rewind;
  for (const auto id : move.done) {
    const auto rank = rank_of_id(id);
    const auto row = "row " + std::to_string(id);
    if (!rank) {
      breach("P6", move.at, what + " with " + row + ", which is no durable row");
      continue;
    }
    if (jump) on_handled(rank, move.at);
    const bool aside = fate_[*rank].handled_at || fate_[*rank].parked_as > 0;
    if (!aside) breach("P6", move.at, what + " though nobody has " + row);
    if (fate_[*rank].noted) breach("P6", move.at, what + " and counts " + row + " again");
    fate_[*rank].noted = true;
  }
  extend_prefixes();
  for (const auto id : move.redriven) on_handed_over_again(move, id, what);
  const auto numbers = !several() && !move.redriven.empty()
                           ? move.redriven.size()
                           : move.done.size() + move.redriven.size();
  if (move.sequence != move.sequence_before + numbers + move.unused) {
    breach("P6", move.at, what + " with sequence " + std::to_string(move.sequence));
  }
}

/// Whatever comes after it is as if it had never been touched.
void Judge::on_gone_back(const Evidence::Move& move) {
  if (move.by != Evidence::Move::By::rewind) breach("P6", move.at, "the cursor moved back");
  cursor_end_ = ranks_up_to(move.to);
  for (auto rank = cursor_end_; rank < fate_.size(); ++rank) {
    if (!fate_[rank].removed) fate_[rank] = {};
  }
  handled_prefix_ = std::min(handled_prefix_, cursor_end_);
  noted_prefix_ = std::min(noted_prefix_, cursor_end_);
  successes_up_to_ = std::min(successes_up_to_, cursor_end_);
  for (auto& [key, up_to] : successes_of_key_) up_to = std::min(up_to, cursor_end_);
  rank_of_number_.clear();
  highest_success_ = 0;
  went_back_in_ = move.row_epoch + 1;
  extend_prefixes();
}

void Judge::on_begun(const Attempt& attempt) {
  on_repeated(attempt);
  const auto rank = rank_of(attempt);
  if (!rank) return;  // not durable: check_durability speaks
  const auto epoch = attempt.epoch;
  if (epoch < went_back_in_) return;
  if (several()) {
    on_begun_in_key(attempt, *rank);
  } else if (!moved_since(attempt, *rank)) {
    on_begun_in_order(attempt, *rank);
  }
  auto& attempted_at = fate_[*rank].attempted_at;
  attempted_at =
      epoch < rewound_in_ ? std::nullopt : std::optional(attempted_at.value_or(attempt.begun));
  if (epoch != epoch_at(attempt.begun)) return;
  on_begun_by_key(attempt, *rank);
  several() ? on_numbered(attempt) : check_number(attempt, *rank);
  const bool late = *rank < cursor_end_ || (several() && fate_[*rank].parked_as > 0);
  if (attempt.late != late && !moved_since(attempt, *rank)) {
    breach("P2", attempt.begun,
           name(attempt) +
               (attempt.late ? " is marked as late, and is not" : " is late, and not marked"));
  }
  if (attempt.place >= setup_.config.commit_every) {
    breach("P3", attempt.begun, name(attempt) + " is more than commit_every after the cursor");
  }
}

/// A person gave it another place later, which its rank says: where it was then is not known.
bool Judge::moved_since(const Attempt& attempt, std::size_t rank) const {
  return row_at(rank).moved_at > attempt.begun;
}

/// No row comes before one that is before it; if late rows are delivered, none comes before
/// one that was begun.
void Judge::on_begun_in_order(const Attempt& attempt, std::size_t rank) {
  const auto known = known_until(attempt);
  const auto overtakes = [&](std::size_t missing) {
    breach(fate_[missing].attempted_at ? "P4" : "P2", attempt.begun,
           name(attempt) + " overtakes row " + id_at(missing));
  };
  for (auto before = handled_prefix_; before < rank; ++before) {
    auto& fate = fate_[before];
    const bool done = fate.handled_at || fate.parked_as > 0 || row_at(before).astray;
    const bool will_queue = key_was_held(before, known);
    if (will_queue) fate.gave_way = true;
    if (done || will_queue) continue;
    overtakes(before);
    break;
  }
  const bool is_new = delivers_late() && !fate_[rank].attempted_at && !fate_[rank].gave_way;
  for (std::size_t other = 0; other < (is_new ? fate_.size() : rank); ++other) {
    const auto& fate = fate_[other];
    const bool failed = fate.attempted_at && *fate.attempted_at <= known && !fate.handled_at;
    const bool will_queue = failed && key_was_held(other, known);
    if (other != rank && failed && !will_queue && (is_new || row_at(other).astray))
      overtakes(other);
  }
}

void Judge::on_repeated(const Attempt& attempt) {
  const auto [known, first] = attempt_of_.try_emplace(attempt.id, &attempt);
  if (first) return;
  // A holder that was replaced may finish what it was handing over.
  const bool is_over = attempt.epoch < known->second->epoch;
  const auto& earlier = is_over ? *known->second : *std::exchange(known->second, &attempt);
  if (earlier.body != attempt.body) {
    breach("P3", attempt.begun, name(attempt) + " is repeated with other bytes");
  }
  if (earlier.sequence != attempt.sequence && !is_over && !renumbered_between(earlier, attempt)) {
    breach("P3", attempt.begun,
           name(attempt) + " had sequence " + std::to_string(earlier.sequence) + " before");
  }
}

// --- P9: what cannot be seen beforehand halts, and nothing else does -----------------------------

void Judge::on_halted(const Evidence::Halt& halt) {
  if (halt.reason == HaltReason::poison) check_parked_halt(halt);
  if (halt.reason == HaltReason::late_row) on_late_row(halt);
  if (halt.reason == HaltReason::clock_back && !clock_went_back_before(halt.at)) {
    breach("P9", halt.at, "the lane halts CLOCK_BACK though the clock did not go back");
  }
}

void Judge::on_late_row(const Evidence::Halt& halt) {
  const auto rank = rank_of_id(std::stoll(halt.row_id));
  if (!rank) return;  // undone by a crash since
  const auto& row = row_at(*rank);
  const auto known_late = setup_.faults ? statement_outlives_session_max : 0;
  if (row.moved_at && *row.moved_at + known_late >= halt.at) return;  // where it was is not known
  const auto what = "the lane halts LATE_ROW at row " + halt.row_id;
  if (row.visible_at > halt.at) breach("P9", halt.at, what + ", which there is not");
  if (!row.astray) breach("P9", halt.at, what + ", which came in its place");
  if (fate_[*rank].noted) breach("P9", halt.at, what + ", which is done");
  if (appeared_within_lookback(row, halt.at)) {
    breach("P9", halt.at, what + ", which appeared within the lookback");
  }
  if (*rank >= cursor_end_) breach("P9", halt.at, what + ", which is not behind the cursor");
}

/// Of the cursor as it was then, or wherever a rewind took it since.
bool Judge::appeared_within_lookback(const Evidence::Row& row, Micros halted_at) const {
  std::optional<std::int64_t> cursor;
  for (const auto& move : seen_.moves) {
    if (move.at > halted_at) break;
    const bool counts = move.at <= row.visible_at || move.by == Evidence::Move::By::rewind;
    if (!counts || !move.to) continue;
    const auto to = move.to->created_at_us;
    cursor = move.at <= row.visible_at ? to : std::max(cursor.value_or(to), to);
  }
  return delivers_late() && cursor && row.created_at_us > *cursor - setup_.lookback;
}

bool Judge::clock_went_back_before(Micros when) const {
  std::int64_t latest = seen_.clock.front().shows;
  std::int64_t ahead = latest - seen_.clock.front().at;
  for (const auto& [at, shows] : seen_.clock) {
    if (at > when) break;
    latest = std::max(latest, at + ahead);
    if (shows < latest - setup_.insert_latency) return true;
    ahead = shows - at;
  }
  return false;
}

}  // namespace seriatim::simulation

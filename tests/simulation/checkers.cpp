#include "simulation/checkers.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/lane.hpp"

namespace seriatim::simulation {

namespace {

using Attempt = Evidence::Attempt;

Micros micros(milliseconds time) {
  return std::chrono::microseconds(time).count();
}

class Judge {
 public:
  Judge(const Setup& setup, const Evidence& evidence) : setup_(setup), seen_(evidence) {
    rank_durable_rows();
  }

  std::optional<Violation> verdict(bool at_rest) {
    walk_through_time();
    check_durability();
    check_identity();
    check_overlaps();
    check_first_successes();
    check_repeats();
    check_holders();
    if (!first_ && at_rest) check_nothing_lost();
    return first_;
  }

 private:
  /// One thing seen, in the order in which things of one instant count.
  struct Moment {
    enum class Kind { accepted, skipped, moved, begun };
    Micros at;
    Kind kind;
    std::size_t index;
    bool operator<(const Moment& other) const {
      return std::tie(at, kind, index) < std::tie(other.at, other.kind, other.index);
    }
  };

  void rank_durable_rows();
  std::vector<Moment> moments() const;
  void walk_through_time();
  void on_handled(std::size_t rank);
  void on_moved(const Evidence::Move& move);
  void on_begun(const Attempt& attempt);

  void check_durability();
  void check_identity();
  void check_overlaps();
  void check_first_successes();
  void check_repeats();
  void check_holders();
  void check_holder_of(const Attempt& attempt);
  void check_nothing_lost();

  void breach(const char* rule, Micros at, const std::string& text) {
    if (!first_ || at < first_->at) first_ = Violation{rule, at, text};
  }
  const Evidence::Call& call_of(const Attempt& a) const { return seen_.calls[a.call]; }
  std::optional<std::size_t> rank_of_id(std::int64_t id) const;
  std::optional<std::size_t> rank_of(const Attempt& attempt) const;
  std::uint64_t epoch_at(Micros when) const;
  Micros lock_before(const Evidence::Call& call) const;
  bool fault_between(Micros from, Micros to) const;
  bool session_of_ended(const Evidence::Call& call, Micros to) const;
  std::string name(const Attempt& attempt) const;

  const Setup& setup_;
  const Evidence& seen_;
  std::vector<std::size_t> durable_;                ///< rows in declared order
  std::map<std::size_t, std::size_t> rank_of_row_;  ///< place in durable_
  std::map<std::int64_t, std::size_t> rank_of_id_;
  std::vector<bool> handled_;  ///< by rank: accepted or skipped
  std::size_t prefix_ = 0;     ///< all ranks below it are handled
  std::uint64_t cursor_sequence_ = 0;
  std::optional<Violation> first_;
};

// --- what is known about rows and holders --------------------------------------------------------

void Judge::rank_durable_rows() {
  const auto key = [&](std::size_t row) {
    const auto& r = seen_.rows[row];
    return setup_.order == OrderBy::id ? std::pair(r.id, r.id) : std::pair(r.created_at, r.id);
  };
  for (std::size_t row = 0; row < seen_.rows.size(); ++row) {
    if (seen_.rows[row].committed && !seen_.rows[row].lost_at) durable_.push_back(row);
  }
  std::sort(durable_.begin(), durable_.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t rank = 0; rank < durable_.size(); ++rank) {
    rank_of_row_[durable_[rank]] = rank;
    rank_of_id_[seen_.rows[durable_[rank]].id] = rank;
  }
  handled_.assign(durable_.size(), false);
}

std::optional<std::size_t> Judge::rank_of_id(std::int64_t id) const {
  const auto found = rank_of_id_.find(id);
  return found == rank_of_id_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> Judge::rank_of(const Attempt& attempt) const {
  const auto found = rank_of_row_.find(row_of(attempt.bytes));
  return found == rank_of_row_.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t Judge::epoch_at(Micros when) const {
  std::uint64_t epoch = 0;
  for (const auto& take_over : seen_.take_overs) {
    if (take_over.at <= when) epoch = take_over.epoch;
  }
  return epoch;
}

Micros Judge::lock_before(const Evidence::Call& call) const {
  Micros at = 0;
  for (const auto& lock : seen_.locks) {
    if (lock.at > call.begin) break;
    if (lock.relay == call.relay && lock.epoch == call.epoch) at = lock.at;
  }
  return at;
}

bool Judge::fault_between(Micros from, Micros to) const {
  return std::any_of(seen_.faults.begin(), seen_.faults.end(),
                     [&](const auto& fault) { return fault.at >= from && fault.at <= to; });
}

bool Judge::session_of_ended(const Evidence::Call& call, Micros to) const {
  const auto from = lock_before(call);
  return std::any_of(seen_.faults.begin(), seen_.faults.end(), [&](const auto& fault) {
    return fault.session_ended && fault.relay == call.relay && fault.at >= from && fault.at <= to;
  });
}

std::string Judge::name(const Attempt& attempt) const {
  return "row " + attempt.id + " (sequence " + std::to_string(attempt.sequence) + ", relay " +
         std::to_string(call_of(attempt).relay) + ", epoch " +
         std::to_string(call_of(attempt).epoch) + ")";
}

// --- order, failures and the cursor: one walk through time (P2, P4, P6) --------------------------

std::vector<Judge::Moment> Judge::moments() const {
  std::vector<Moment> all;
  for (std::size_t i = 0; i < seen_.attempts.size(); ++i) {
    all.push_back({seen_.attempts[i].begin, Moment::Kind::begun, i});
    if (seen_.attempts[i].accepted)
      all.push_back({seen_.attempts[i].end, Moment::Kind::accepted, i});
  }
  for (std::size_t i = 0; i < seen_.skips.size(); ++i)
    all.push_back({seen_.skips[i].at, Moment::Kind::skipped, i});
  for (std::size_t i = 0; i < seen_.moves.size(); ++i)
    all.push_back({seen_.moves[i].at, Moment::Kind::moved, i});
  std::sort(all.begin(), all.end());
  return all;
}

void Judge::walk_through_time() {
  for (const auto& moment : moments()) {
    switch (moment.kind) {
      case Moment::Kind::accepted:
        if (const auto rank = rank_of(seen_.attempts[moment.index])) on_handled(*rank);
        break;
      case Moment::Kind::skipped:
        if (const auto rank = rank_of_id(seen_.skips[moment.index].id)) on_handled(*rank);
        break;
      case Moment::Kind::moved: on_moved(seen_.moves[moment.index]); break;
      case Moment::Kind::begun: on_begun(seen_.attempts[moment.index]); break;
    }
  }
}

void Judge::on_handled(std::size_t rank) {
  handled_[rank] = true;
  while (prefix_ < handled_.size() && handled_[prefix_]) ++prefix_;
}

void Judge::on_moved(const Evidence::Move& move) {
  const auto to = rank_of_id(move.to);
  const auto from = move.from ? rank_of_id(*move.from) : std::nullopt;
  const auto what = "the cursor moved to " + std::to_string(move.to);
  if (!to) return breach("P6", move.at, what + ", which is no durable row");
  if (from && *to <= *from) breach("P6", move.at, what + ": not forwards");
  if (prefix_ <= *to) breach("P6", move.at, what + " before all up to it was delivered");
  if (move.sequence != *to + 1) {
    breach("P6", move.at, what + " with sequence " + std::to_string(move.sequence));
  }
  cursor_sequence_ = move.sequence;
}

void Judge::on_begun(const Attempt& attempt) {
  const auto rank = rank_of(attempt);
  if (!rank) return;  // not durable: check_durability speaks
  if (prefix_ < *rank) {
    const auto missing = std::to_string(seen_.rows[durable_[prefix_]].id);
    const bool tried =
        std::any_of(seen_.attempts.begin(), seen_.attempts.end(),
                    [&](const Attempt& a) { return a.id == missing && a.begin < attempt.begin; });
    breach(tried ? "P4" : "P2", attempt.begin, name(attempt) + " overtakes row " + missing);
  }
  const bool current = call_of(attempt).epoch == epoch_at(attempt.begin);
  if (current && attempt.sequence <= cursor_sequence_) {
    breach("P3", attempt.begin, name(attempt) + " is sent though the cursor has passed it");
  }
  if (current && attempt.sequence > cursor_sequence_ + setup_.config.commit_every) {
    breach("P3", attempt.begin, name(attempt) + " is more than commit_every after the cursor");
  }
}

// --- P7, and what an id stands for (P3) ----------------------------------------------------------

void Judge::check_durability() {
  for (const auto& attempt : seen_.attempts) {
    if (seen_.rows[row_of(attempt.bytes)].lost_at) {
      breach("P7", attempt.begin, name(attempt) + " was sent, then lost by a crash");
    }
  }
}

void Judge::check_identity() {
  std::map<std::string, std::string> bytes_of;
  for (const auto& attempt : seen_.attempts) {
    if (bytes_of.try_emplace(attempt.id, attempt.bytes).first->second != attempt.bytes) {
      breach("P3", attempt.begin, name(attempt) + " is repeated with other bytes");
    }
    const auto rank = rank_of(attempt);
    if (rank && attempt.sequence != *rank + 1) {
      breach("P3", attempt.begin,
             name(attempt) + " should have sequence " + std::to_string(*rank + 1));
    }
  }
}

// --- P2: order and overlap -----------------------------------------------------------------------

void Judge::check_first_successes() {
  std::vector<const Attempt*> accepted;
  for (const auto& attempt : seen_.attempts) {
    if (attempt.accepted && rank_of(attempt)) accepted.push_back(&attempt);
  }
  std::stable_sort(accepted.begin(), accepted.end(),
                   [](const Attempt* a, const Attempt* b) { return a->end < b->end; });
  std::vector<bool> before(durable_.size());
  std::size_t next = 0;
  // A call of a dead holder may still end well after an operator set its row aside.
  const auto set_aside = [&](const Attempt& a) {
    return std::any_of(seen_.skips.begin(), seen_.skips.end(), [&](const auto& skip) {
      return skip.at <= a.end && std::to_string(skip.id) == a.id;
    });
  };
  for (const auto* attempt : accepted) {
    const auto rank = *rank_of(*attempt);
    if (before[rank] || set_aside(*attempt)) continue;
    before[rank] = true;
    if (rank < next) breach("P2", attempt->end, name(*attempt) + " succeeded after a later row");
    next = rank + 1;
  }
}

/// Two calls at once: only where the server had let go of the elder's lock.
void Judge::check_overlaps() {
  std::vector<const Attempt*> under_way;
  for (const auto& attempt : seen_.attempts) {
    std::erase_if(under_way, [&](const Attempt* a) { return a->end <= attempt.begin; });
    for (const auto* other : under_way) {
      const auto& a = call_of(*other);
      const auto& b = call_of(attempt);
      const auto& elder = a.epoch < b.epoch ? a : b;
      if (a.epoch != b.epoch && session_of_ended(elder, attempt.begin)) continue;
      breach("P2", attempt.begin, name(attempt) + " is sent while " + name(*other) + " is");
    }
    under_way.push_back(&attempt);
  }
}

// --- P3: repeats ---------------------------------------------------------------------------------

void Judge::check_repeats() {
  std::map<std::string, const Attempt*> accepted;
  for (const auto& attempt : seen_.attempts) {
    if (setup_.profile != Profile::everything && attempt.number != 1) {
      breach(
          "P3", attempt.begin,
          name(attempt) + " is attempt " + std::to_string(attempt.number) + " at the first call");
    }
    const auto earlier = accepted.find(attempt.id);
    if (earlier != accepted.end() && earlier->second->end <= attempt.begin) {
      const auto since =
          std::min(lock_before(call_of(*earlier->second)), lock_before(call_of(attempt)));
      if (!fault_between(since, attempt.begin)) {
        breach("P3", attempt.begin, name(attempt) + " is repeated, and nothing had failed");
      }
    }
    if (attempt.accepted) accepted[attempt.id] = &attempt;
  }
}

// --- P5: one holder ------------------------------------------------------------------------------

void Judge::check_holders() {
  for (const auto& attempt : seen_.attempts) check_holder_of(attempt);
  for (const auto& move : seen_.moves) {
    if (move.mover_epoch != move.row_epoch) {
      breach("P5", move.at,
             "the cursor was moved by epoch " + std::to_string(move.mover_epoch) + " in epoch " +
                 std::to_string(move.row_epoch));
    }
  }
  const bool well = setup_.profile != Profile::everything;
  if (well && seen_.take_overs.size() > seen_.releases.size() + 1) {
    breach("P5", seen_.take_overs.back().at, "the lane changed hands though its holder was well");
  }
}

/// A holder whose lock is gone may begin a call within call_begin_max of taking it, not later, and
/// send no further row of it once max_hold is over.
void Judge::check_holder_of(const Attempt& attempt) {
  const auto& call = call_of(attempt);
  if (call.epoch == epoch_at(attempt.begin)) return;
  const auto lock = lock_before(call);
  const auto call_until = lock + micros(core::Lane::call_begin_max);
  const auto row_until = call_until + micros(setup_.config.max_hold);
  if (!session_of_ended(call, attempt.begin)) {
    breach("P5", attempt.begin, name(attempt) + " is sent by a holder that was replaced");
  } else if (attempt.begin > (attempt.place == 0 ? call_until : row_until)) {
    breach("P5", attempt.begin,
           name(attempt) + " is sent " + std::to_string(attempt.begin - lock) +
               " µs after a lock that is gone");
  }
}

// --- P1 ------------------------------------------------------------------------------------------

void Judge::check_nothing_lost() {
  for (std::size_t rank = 0; rank < durable_.size(); ++rank) {
    if (handled_[rank]) continue;
    const auto id = std::to_string(seen_.rows[durable_[rank]].id);
    return breach("P1", 0, "row " + id + " was neither delivered nor skipped");
  }
}

}  // namespace

std::optional<Violation> judge(const Setup& setup, const Evidence& evidence, bool at_rest) {
  return Judge(setup, evidence).verdict(at_rest);
}

}  // namespace seriatim::simulation

#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "simulation/checkers.hpp"

namespace seriatim::simulation {

using Attempt = Evidence::Attempt;

/// One run before the bench. Order, failures, cursor and halts are judged in one walk through time
/// (judge_walk.cpp), all else by itself (checkers.cpp).
class Judge {
 public:
  Judge(const Setup& setup, const Evidence& evidence) : setup_(setup), seen_(evidence) {
    rank_durable_rows();
  }

  std::optional<Violation> verdict(bool at_rest) {
    walk_through_time();
    check_durability();
    check_overlaps();
    check_repeats();
    if (several()) {
      check_kept();
      check_calls_at_once();
    }
    check_holders();
    check_turns();
    check_audit();
    if (!first_ && at_rest) check_nothing_lost();
    if (!first_ && at_rest && is_plain()) check_as_of_a_real_run();
    return first_;
  }

 private:
  /// One thing seen, in the order in which things of one instant count.
  struct Moment {
    enum class Kind {
      accepted,
      skipped,
      discarded,
      removed,
      parked,
      moved,
      redriven,
      begun,
      halted
    };
    Micros at;
    Kind kind;
    std::size_t index;
    bool operator<(const Moment& other) const {
      return std::tie(at, kind, index) < std::tie(other.at, other.kind, other.index);
    }
  };
  /// What became of a row since the cursor last went back over it.
  struct Fate {
    std::optional<Micros> attempted_at;  ///< first
    bool removed = false;                ///< by a person
    bool noted = false;                  ///< the cursor's transaction, or an act, says it is done
    std::optional<Micros> handled_at;    ///< accepted or set aside
    std::optional<Micros> passed_at;     ///< by the cursor, though not handled
    std::uint64_t parked_as = 0;         ///< set aside, so manieth; 0: not, or no longer
    std::optional<Micros> parked_until;
    bool holds_key = false;       ///< … and rows of its key queue behind it
    bool due = false;             ///< … and an operator wants it handed over again
    bool accepted_again = false;  ///< … and it was: what queues behind it may go out in that call
    bool dead_letter = false;     ///< once: it may come after rows of its key
    bool gave_way = false;        ///< its key was parked when later rows were sent
  };

  void rank_durable_rows();
  std::vector<Moment> moments() const;
  void walk_through_time();
  void on_accepted(const Attempt& attempt);
  void on_handled(std::optional<std::size_t> rank, Micros at);
  void on_removed(const Evidence::Skip& removal);
  void extend_prefixes();
  void on_moved(const Evidence::Move& move);
  void on_done(const Evidence::Move& move, const std::string& what);
  void on_gone_back(const Evidence::Move& move);
  void on_begun(const Attempt& attempt);
  [[nodiscard]] bool moved_since(const Attempt& attempt, std::size_t rank) const;
  void on_begun_in_order(const Attempt& attempt, std::size_t rank);
  void on_repeated(const Attempt& attempt);
  void on_halted(const Evidence::Halt& halt);

  // Several calls in flight (judge_in_flight.cpp).
  bool several() const { return setup_.config.in_flight > 1; }
  bool same_key(const Attempt& a, const Attempt& b) const;
  void on_begun_in_key(const Attempt& attempt, std::size_t rank);
  void check_kept();
  void check_calls_at_once();

  // Rows set aside (judge_parked.cpp).
  void on_parked(const Evidence::Parked& parked);
  void on_queued(const Evidence::Parked& parked, std::size_t rank);
  void on_discarded(const Evidence::Skip& discard);
  void on_redriven(const Evidence::Redrive& redrive);
  void on_handed_over_again(const Evidence::Move& move, std::int64_t id, const std::string& what);
  void on_begun_by_key(const Attempt& attempt, std::size_t rank);
  void on_accepted_by_key(const Attempt& attempt, std::size_t rank);
  void on_numbered(const Attempt& attempt);
  void check_number(const Attempt& attempt, std::size_t rank);
  void check_parked_halt(const Evidence::Halt& halt);
  bool queues_with(std::size_t rank, std::size_t other) const;
  bool key_is_held(std::size_t rank) const;
  bool key_was_held(std::size_t rank, Micros when) const;
  const std::optional<std::string>& row_key(std::size_t rank) const { return row_at(rank).key; }
  void on_late_row(const Evidence::Halt& halt);

  void check_durability();
  void check_overlaps();
  void check_repeats();
  void check_holders();
  void check_turns();
  bool may_come_late(const Attempt& attempt) const;
  void check_audit();
  void check_audit_of(std::size_t rank);
  void check_nothing_lost();
  bool is_plain() const;
  void check_as_of_a_real_run();

  void breach(const char* rule, Micros at, const std::string& text) {
    if (!first_ || at < first_->at) first_ = Violation{rule, at, text};
  }
  /// Nothing fails, and no act takes a row out of a relay's hand.
  bool undisturbed() const { return !setup_.faults && setup_.operator_act == 0; }
  const Evidence::Row& row_at(std::size_t rank) const { return seen_.rows[durable_[rank]]; }
  std::string id_at(std::size_t rank) const { return std::to_string(row_at(rank).id); }
  std::pair<std::int64_t, std::int64_t> key(std::int64_t created_at, std::int64_t id) const;
  auto key_of(std::size_t row) const {
    return key(seen_.rows[row].created_at_us, seen_.rows[row].id);
  }
  std::size_t ranks_up_to(const std::optional<Position>& place) const;
  std::optional<std::size_t> rank_of_id(std::int64_t id) const;
  std::optional<std::size_t> rank_of(const Attempt& attempt) const;
  std::uint64_t epoch_at(Micros when) const;
  Micros announced_before(const Attempt& attempt) const;
  bool fault_between(Micros from, Micros to) const;
  bool session_of_ended(const Attempt& attempt, Micros to) const;
  Micros known_until(const Attempt& attempt) const;
  bool gone_back_between(std::uint64_t epoch, std::uint64_t later) const;
  bool renumbered_between(const Attempt& attempt, const Attempt& later) const;
  bool clock_went_back_before(Micros when) const;
  bool appeared_within_lookback(const Evidence::Row& row, Micros halted_at) const;
  bool delivers_late() const { return setup_.lookback > 0; }
  std::string name(const Attempt& attempt) const;

  const Setup& setup_;
  const Evidence& seen_;
  std::vector<std::size_t> durable_;                ///< rows in declared order
  std::map<std::size_t, std::size_t> rank_of_row_;  ///< place in durable_
  std::map<std::int64_t, std::size_t> rank_of_id_;
  std::vector<std::size_t> astray_;  ///< ranks

  // As the walk goes on.
  std::vector<Fate> fate_;           ///< by rank
  std::size_t handled_prefix_ = 0;   ///< all ranks below it are handled, but for rows astray
  std::size_t noted_prefix_ = 0;     ///< … are noted
  std::size_t successes_up_to_ = 0;  ///< first successes: one above the latest rank
  std::size_t cursor_end_ = 0;       ///< one above the cursor's rank
  std::uint64_t cursor_sequence_ = 0;
  std::map<std::int64_t, const Attempt*> attempt_of_;  ///< the last one, by id
  std::uint64_t parked_rows_ = 0;
  std::map<std::optional<std::string>, std::size_t> successes_of_key_;  ///< as successes_up_to_
  std::map<std::optional<std::string>, std::uint64_t> highest_of_key_;  ///< number accepted
  std::map<std::uint64_t, std::size_t> rank_of_number_;  ///< that receivers may have taken
  std::uint64_t highest_success_ = 0;                    ///< its number
  std::uint64_t rewound_in_ = 0;    ///< the first epoch after the cursor was last rewound
  std::uint64_t went_back_in_ = 0;  ///< the first epoch after the cursor last went back
  std::optional<Violation> first_;
};

}  // namespace seriatim::simulation

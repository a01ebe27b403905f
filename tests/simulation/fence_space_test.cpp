// A small space is exhausted, not sampled: every interleaving of a few writers with a few polls.
#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fence.hpp"
#include "core/mutant.hpp"

using namespace seriatim;
using core::Fence;
using core::Holder;
using core::Mutant;

namespace {

struct Space {
  unsigned writers = 1;   ///< one row each, step by step
  bool prepares = false;  ///< the first writer goes through PREPARE
  unsigned quick = 0;     ///< rows inserted and committed between two steps of the others
  unsigned polls = 2;
  OrderKey clock_divisor = 1;  ///< above 1, neighbouring steps share a created_at
};

enum class Step { lock, draw, leave_fast_path, rename, show, let_go };
constexpr std::array ordinary{Step::lock, Step::draw, Step::show, Step::let_go};
constexpr std::array two_phase{Step::lock,   Step::draw, Step::leave_fast_path,
                               Step::rename, Step::show, Step::let_go};

class Interleaving {
 public:
  explicit Interleaving(const Space& space)
      : space_(space), quick_left_(space.quick), polls_left_(space.polls * poll_steps) {
    writers_.resize(space.writers);
  }

  [[nodiscard]] unsigned actors() const { return space_.writers + 2; }
  /// The actor's next step; false when it has none left.
  bool step(unsigned actor) {
    ++now_;
    if (actor < space_.writers) return write(actor);
    if (actor == space_.writers) return quick_left_ > 0 && insert_quickly();
    return polls_left_ > 0 && poll();
  }
  /// Every row that became visible is ahead of the cursor or was read.
  [[nodiscard]] bool lost_a_row() const { return lost_; }
  /// What polls with nobody writing any more leave unread.
  [[nodiscard]] std::size_t left_over() {
    now_ += space_.clock_divisor;
    for (unsigned i = 0; i < visible_.size() * poll_steps; ++i) poll_step(i % poll_steps);
    return visible_.size() - read_;
  }

 private:
  static constexpr unsigned poll_steps = 4;
  struct Writer {
    std::size_t step = 0;
    bool locked = false;
    bool fast_path = true;
    bool prepared = false;
    Position row;
  };

  [[nodiscard]] Position draw() { return {now_ / space_.clock_divisor, std::to_string(++ids_)}; }
  [[nodiscard]] bool behind_cursor(const Position& row) const {
    return cursor_ && !core::comes_after(row, *cursor_, OrderBy::created_at);
  }
  void show(const Position& row) {
    visible_.push_back(row);
    if (behind_cursor(row)) lost_ = true;
  }
  bool insert_quickly() {
    --quick_left_;
    show(draw());
    return true;
  }

  bool write(unsigned number) {
    auto& writer = writers_[number];
    const bool prepares = space_.prepares && number == 0;
    if (writer.step == (prepares ? two_phase.size() : ordinary.size())) return false;
    switch (prepares ? two_phase[writer.step++] : ordinary[writer.step++]) {
      case Step::lock: writer.locked = true; break;
      case Step::draw: writer.row = draw(); break;
      case Step::leave_fast_path: writer.fast_path = false; break;
      case Step::rename: writer.prepared = true; break;
      case Step::show: show(writer.row); break;
      case Step::let_go: writer.locked = false; break;
    }
    return true;
  }

  bool poll() {
    poll_step((space_.polls * poll_steps - polls_left_--) % poll_steps);
    return true;
  }
  /// F; the fast-path slots; the shared table; the rows.
  void poll_step(unsigned step) {
    if (step == 0) {
      f_ = now_ / space_.clock_divisor;
      holders_.clear();
    } else if (step == 3) {
      read_rows();
    } else {
      read_locks(step == 1);
      if (step == 2) settled_ = fence_.settle(f_, holders_);
    }
  }
  void read_locks(bool fast_path) {
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      const auto& writer = writers_[i];
      const auto number = std::to_string(i);
      if (!writer.locked || writer.fast_path != fast_path) continue;
      holders_.push_back({(writer.prepared ? "-1/" : "3/") + number, writer.prepared});
    }
  }
  /// One row a poll, so that a tie may be cut in two.
  void read_rows() {
    std::optional<Position> first;
    for (const auto& row : visible_) {
      if (behind_cursor(row) || !core::is_settled(row.created_at_us, settled_)) continue;
      if (!first ||
          std::pair(row.created_at_us, row.id) < std::pair(first->created_at_us, first->id)) {
        first = row;
      }
    }
    if (!first) return;
    cursor_ = first;
    ++read_;
  }

  Space space_;
  Fence fence_{order_key_min};
  std::vector<Writer> writers_;
  unsigned quick_left_;
  unsigned polls_left_;
  OrderKey now_ = 0;
  unsigned ids_ = 0;
  std::vector<Position> visible_;
  std::size_t read_ = 0;
  std::optional<Position> cursor_;
  OrderKey f_ = order_key_min;
  OrderKey settled_ = order_key_min;
  std::vector<Holder> holders_;
  bool lost_ = false;
};

/// Answers how many interleavings there are, or nothing once one of them loses a row.
std::optional<unsigned> walk(const Interleaving& from) {
  unsigned ends = 0;
  bool ended = true;
  for (unsigned actor = 0; actor < from.actors(); ++actor) {
    auto next = from;
    if (!next.step(actor)) continue;
    ended = false;
    const auto more = next.lost_a_row() ? std::nullopt : walk(next);
    if (!more) return std::nullopt;
    ends += *more;
  }
  if (!ended) return ends;
  auto last = from;
  return last.left_over() > 0 ? std::nullopt : std::optional(1U);
}

std::optional<unsigned> walk_all(const Space& space, Mutant mutant = Mutant::none) {
  core::active_mutant = mutant;
  const auto ends = walk(Interleaving(space));
  core::active_mutant = Mutant::none;
  return ends;
}

const Space two_writers{.writers = 2, .polls = 2};
const Space two_writers_in_one_tick{.writers = 2, .polls = 2, .clock_divisor = 8};
const Space prepared_and_quick{.writers = 1, .prepares = true, .quick = 1, .polls = 3};

}  // namespace

TEST_SUITE("every interleaving of writers and polls") {
  TEST_CASE("two writers lose no row, whatever happens between the steps of two polls") {
    CHECK(walk_all(two_writers) == 900'900);  // 16! / (4! 4! 8!)
  }
  TEST_CASE("nor do they where neighbours share a created_at") {
    CHECK(walk_all(two_writers_in_one_tick) == 900'900);
  }
  TEST_CASE("nor does one that is prepared anywhere between the steps of three polls") {
    CHECK(walk_all(prepared_and_quick) == 352'716);  // 19! / (6! 1! 12!)
  }
  TEST_CASE("each part of the fence is needed") {
    CHECK_FALSE(walk_all(two_writers, Mutant::no_fence));
    CHECK_FALSE(walk_all(two_writers_in_one_tick, Mutant::settled_inclusive));
    CHECK_FALSE(walk_all(two_writers_in_one_tick, Mutant::ties_dropped));
    CHECK_FALSE(walk_all(prepared_and_quick, Mutant::no_inheritance));
    CHECK_FALSE(walk_all(prepared_and_quick, Mutant::no_late_inheritance));
  }
}

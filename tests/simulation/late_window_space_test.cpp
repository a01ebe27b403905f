// late_rows = "deliver", a small space exhausted: every interleaving of a writer whose row comes
// late, one that begins once it has committed, and a few polls. The proof is in docs/fence.md
// ("Late rows: cause before effect").
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fence.hpp"

using namespace seriatim;
using core::Fence;
using core::Holder;

namespace {

/// A part of the check taken away.
enum class Broken {
  nothing,
  bound_of_this_poll,       ///< instead of the one before
  virtual_forgotten,        ///< only transactions that hold the table count
  prepared_forgotten,       ///< … or only those that are not prepared
  no_margin,                ///< stamps are taken to be drawn after the transaction can be seen
  transactions_then_clock,  ///< the clock is read after them
  rows_then_transactions,   ///< … and both after the rows after the cursor
  late_then_rows,           ///< those rows are read after the check
  late_after_settled        ///< late rows go out after those
};

struct Space {
  bool prepares = false;
  unsigned polls = 2;
  Broken broken = Broken::nothing;
};

/// The server draws now() so long before the transaction can be seen.
constexpr OrderKey drawn_before = 3;
constexpr OrderKey margin = drawn_before;

enum class Step { begin, lock, prepare, show, end };
constexpr std::array ordinary{Step::begin, Step::lock, Step::show, Step::end};
constexpr std::array two_phase{Step::begin, Step::lock, Step::prepare, Step::show, Step::end};

enum class Look { clock, transactions, rows, late };
using Looks = std::array<Look, 4>;
constexpr Looks looks{Look::clock, Look::transactions, Look::rows, Look::late};
constexpr Looks clock_second{Look::transactions, Look::clock, Look::rows, Look::late};
constexpr Looks rows_first{Look::rows, Look::clock, Look::transactions, Look::late};
constexpr Looks rows_last{Look::clock, Look::transactions, Look::late, Look::rows};

struct Row {
  Position position;
  bool delivered = false;
};

class Interleaving {
 public:
  explicit Interleaving(const Space& space)
      : space_(space), poll_steps_left_(space.polls * looks.size()) {}

  static constexpr unsigned actors = 4;
  /// The actor's next step; false if it has none, or not yet.
  bool step(unsigned actor) {
    ++now_;
    switch (actor) {
      case 0: return write();
      case 1: return !std::exchange(passed_by_, true) && insert();
      case 2: return committed_ && !std::exchange(effect_written_, true) && insert_effect();
      default: return poll_steps_left_ > 0 && poll();
    }
  }
  /// The row of the second transaction went out before that of the first.
  [[nodiscard]] bool swapped() const { return swapped_; }
  /// What two polls with nobody writing any more leave undelivered.
  [[nodiscard]] bool lost_a_row() {
    for (std::size_t i = 0; i < 2 * looks.size(); ++i) {
      ++now_;
      look(order()[i % looks.size()]);
    }
    return !std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.delivered; });
  }

 private:
  [[nodiscard]] const Looks& order() const {
    switch (space_.broken) {
      case Broken::transactions_then_clock: return clock_second;
      case Broken::rows_then_transactions: return rows_first;
      case Broken::late_then_rows: return rows_last;
      default: return looks;
    }
  }
  void show(OrderKey stamp) { rows_.push_back({{stamp, std::to_string(rows_.size())}}); }
  bool insert() {
    show(now_);
    return true;
  }
  bool insert_effect() {
    effect_ = rows_.size();
    return insert();
  }

  /// The first transaction.
  bool write() {
    if (step_ == (space_.prepares ? two_phase.size() : ordinary.size())) return false;
    switch (space_.prepares ? two_phase[step_++] : ordinary[step_++]) {
      case Step::begin:
        stamp_ = now_ - drawn_before;
        open_ = true;
        break;
      case Step::lock: holds_table_ = true; break;
      case Step::prepare: prepared_ = true; break;
      case Step::show:
        cause_ = rows_.size();
        show(stamp_);
        committed_ = true;
        break;
      case Step::end: open_ = holds_table_ = false; break;
    }
    return true;
  }

  bool poll() {
    const auto done = space_.polls * looks.size() - poll_steps_left_--;
    look(order()[done % looks.size()]);
    return true;
  }
  void look(Look what) {
    switch (what) {
      case Look::rows: return read_rows();
      case Look::clock: clock_ = now_; break;
      case Look::transactions: open_transactions_ = holders(true); break;
      case Look::late: return read_late();
    }
  }

  [[nodiscard]] bool behind_cursor(const Row& row) const {
    return cursor_ && !core::comes_after(row.position, *cursor_, OrderBy::created_at);
  }
  [[nodiscard]] std::vector<Holder> holders(bool all) const {
    const auto broken = space_.broken;
    bool seen = all ? open_ : holds_table_;
    if (all && broken == Broken::virtual_forgotten) seen = holds_table_;
    if (all && broken == Broken::prepared_forgotten) seen = open_ && !prepared_;
    if (!seen) return {};
    return {{prepared_ ? "-1/1" : "3/1", prepared_}};
  }

  /// Clock, locks and rows as of one moment: that the fence needs no more is shown in
  /// fence_space_test.cpp.
  void read_rows() {
    const auto settled = fence_.settle(now_, holders(false));
    settled_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const bool is_settled = core::is_settled(rows_[i].position.created_at_us, settled);
      if (!rows_[i].delivered && !behind_cursor(rows_[i]) && is_settled) settled_.push_back(i);
    }
    std::sort(settled_.begin(), settled_.end(), [this](std::size_t a, std::size_t b) {
      return rows_[a].position.created_at_us < rows_[b].position.created_at_us;
    });
    if (space_.broken == Broken::late_then_rows) deliver();
  }
  /// From the bound of the poll before on; all of them if there was none, or if nothing else waits.
  void read_late() {
    const auto now = transactions_.settle(clock_, open_transactions_);
    const auto before = std::exchange(bound_, now);
    const auto bound = space_.broken == Broken::bound_of_this_poll ? now : before;
    const bool complete = !bound || *bound == order_key_min || settled_.empty();
    const OrderKey from =
        complete ? order_key_min : *bound - (space_.broken == Broken::no_margin ? 0 : margin);
    late_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].delivered || !behind_cursor(rows_[i])) continue;
      if (rows_[i].position.created_at_us >= from) late_.push_back(i);
    }
    if (space_.broken != Broken::late_then_rows) deliver();
  }

  void deliver() {
    auto batch = std::exchange(late_, {});
    const auto rows = std::exchange(settled_, {});
    const auto place = space_.broken == Broken::late_after_settled ? batch.begin() : batch.end();
    batch.insert(place, rows.begin(), rows.end());
    for (const auto row : batch) {
      rows_[row].delivered = true;
      swapped_ = swapped_ || (effect_ == row && !rows_[*cause_].delivered);
      if (!behind_cursor(rows_[row])) cursor_ = rows_[row].position;
    }
  }

  Space space_;
  std::size_t poll_steps_left_;
  OrderKey now_ = 10;
  std::vector<Row> rows_;  ///< visible ones

  // The writers: one row passes the first transaction's stamp by.
  std::size_t step_ = 0;
  OrderKey stamp_ = 0;
  bool open_ = false, holds_table_ = false, prepared_ = false, committed_ = false;
  bool passed_by_ = false, effect_written_ = false;
  std::optional<std::size_t> cause_, effect_;

  // The lane
  Fence fence_{order_key_min}, transactions_{order_key_min};
  OrderKey clock_ = order_key_min;
  std::vector<Holder> open_transactions_;
  std::optional<OrderKey> bound_;
  std::vector<std::size_t> settled_, late_;
  std::optional<Position> cursor_;
  bool swapped_ = false;
};

/// Answers how many interleavings there are, or nothing once one of them swaps or loses a row.
std::optional<unsigned> walk(const Interleaving& from) {
  unsigned ends = 0;
  bool ended = true;
  for (unsigned actor = 0; actor < Interleaving::actors; ++actor) {
    auto next = from;
    if (!next.step(actor)) continue;
    ended = false;
    const auto more = next.swapped() ? std::nullopt : walk(next);
    if (!more) return std::nullopt;
    ends += *more;
  }
  if (!ended) return ends;
  auto last = from;
  return last.lost_a_row() || last.swapped() ? std::nullopt : std::optional(1U);
}

std::optional<unsigned> walk_all(const Space& space) {
  return walk(Interleaving(space));
}

}  // namespace

TEST_SUITE("every interleaving of a late row, its effect and polls") {
  TEST_CASE("a transaction that began after another had committed never goes out before it") {
    CHECK(walk_all({.polls = 3}));
  }
  TEST_CASE("nor if the other one is prepared") {
    CHECK(walk_all({.prepares = true, .polls = 3}));
  }
  TEST_CASE("each part of the check is needed") {
    for (const auto broken :
         {Broken::bound_of_this_poll, Broken::virtual_forgotten, Broken::no_margin,
          Broken::transactions_then_clock, Broken::rows_then_transactions, Broken::late_then_rows,
          Broken::late_after_settled}) {
      CAPTURE(static_cast<int>(broken));
      CHECK_FALSE(walk_all({.polls = 3, .broken = broken}));
    }
    CHECK_FALSE(walk_all({.prepares = true, .polls = 3, .broken = Broken::prepared_forgotten}));
  }
}

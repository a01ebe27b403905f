#include "core/window.hpp"

#include <algorithm>
#include <utility>

#include "core/ensure.hpp"
#include "core/mutant.hpp"

namespace seriatim::core {

namespace {

/// A receiver may have seen it, and may not have accepted it.
bool in_doubt(const RowAhead& row) {
  return !row.done && row.attempts > 0;
}

}  // namespace

Window::Window(Limits limits, std::optional<Position> cursor, std::uint64_t sequence,
               std::uint64_t handed_to, std::vector<RowAhead> ahead, bool one_by_one)
    : limits_(limits),
      cursor_(std::move(cursor)),
      sequence_(sequence),
      handed_to_(std::max(handed_to, sequence)),
      last_number_(handed_to_),
      known_(std::make_move_iterator(ahead.begin()), std::make_move_iterator(ahead.end())),
      read_to_(cursor_) {
  if (!one_by_one || mutant(Mutant::doubtful_together)) return;
  alone_ = static_cast<std::size_t>(std::count_if(known_.begin(), known_.end(), in_doubt));
}

// --- reading ------------------------------------------------------------------------------------

std::size_t Window::room() const {
  return limits_.rows - std::min(limits_.rows, rows_.size());
}

void Window::add(std::vector<Record> rows) {
  for (auto& record : rows) {
    read_to_ = record.position;
    auto& row = rows_.emplace_back();
    row.record = std::move(record);
    recall(row);
    if (row.state == State::done) continue;
    by_number_.emplace(row.record.sequence, &row);
    auto& of_key = keys_[row.record.key];
    of_key.push_back(&row);
    if (of_key.size() == 1 || mutant(Mutant::key_overlaps)) {
      ready_.emplace(row.record.sequence, &row);
    }
  }
}

/// What was kept of it, or a new number.
void Window::recall(Row& row) {
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const RowAhead& ahead) {
    return ahead.id == row.record.id();
  });
  if (known == known_.end() || mutant(Mutant::numbers_forgotten)) {
    row.record.sequence = ++last_number_;
    // All that is known comes before rows that are not. What did not come by now is gone.
    if (++unknown_rows_ > limits_.rows) forget(known_.size());
    return;
  }
  forget(static_cast<std::size_t>(known - known_.begin()));  // rows come in lane order
  const auto ahead = std::move(known_.front());
  known_.pop_front();
  row.record.sequence = ahead.number;
  row.attempts = ahead.attempts;
  row.alone = alone_ > 0 && in_doubt(ahead);
  if (ahead.done) row.state = State::done;
}

/// They were deleted.
void Window::forget(std::size_t rows) {
  for (; rows > 0; --rows) {
    if (alone_ > 0 && in_doubt(known_.front())) alone_ -= 1;
    known_.pop_front();
  }
}

// --- calls --------------------------------------------------------------------------------------

std::vector<const Record*> Window::begin() {
  const unsigned at_once = alone_ > 0 ? 1 : limits_.in_flight;
  const unsigned uncommitted = alone_ > 0 ? 0 : limits_.commit_every;
  std::vector<const Record*> begun;
  while (failures_ == 0 && calls_ < at_once && calls_ + uncommitted_ < at_once + uncommitted) {
    auto* row = next_to_call();
    if (!row) break;
    ready_.erase(row->record.sequence);
    row->state = State::called;
    row->record.attempt = row->attempts;
    calls_ += 1;
    begun.push_back(&row->record);
  }
  return begun;
}

/// Of the rows that are announced: those that must go out alone first, then by number.
Window::Row* Window::next_to_call() const {
  Row* first = nullptr;
  for (const auto& [number, row] : ready_) {
    if (!row->announced && !mutant(Mutant::unannounced_call)) continue;
    if (alone_ == 0 || row->alone) return row;
    if (!first) first = row;
  }
  return first;
}

void Window::answered(std::uint64_t number, const Outcome& outcome) {
  auto& row = *by_number_.at(number);
  ensure(row.state == State::called, "an answer belongs to a call");
  calls_ -= 1;
  if (!outcome.is_done()) {
    row.state = State::failed;
    failures_ += 1;
    failure_noted_ = false;
    return;
  }
  row.state = State::answered;
  uncommitted_ += 1;
  if (limits_.commit_every > 1) release(row);
}

const Record* Window::failed() const {
  for (const auto& [number, row] : by_number_) {
    if (row->state == State::failed) return &row->record;
  }
  return nullptr;
}

void Window::retry() {
  for (const auto& [number, row] : by_number_) {
    if (row->state != State::failed) continue;
    row->state = State::waiting;
    row->announced = false;
    ready_.emplace(number, row);
  }
  failures_ = 0;
}

/// The next row of its key may go out.
void Window::release(const Row& row) {
  const auto of_key = keys_.find(row.record.key);
  ensure(of_key != keys_.end() && of_key->second.front() == &row, "rows of a key go in order");
  of_key->second.pop_front();
  if (of_key->second.empty()) {
    keys_.erase(of_key);
    return;
  }
  auto* next = of_key->second.front();
  ready_.emplace(next->record.sequence, next);
}

// --- commits ------------------------------------------------------------------------------------

bool Window::is_over(const Row& row) {
  return row.state == State::done || row.state == State::moving;
}

std::size_t Window::over_in_front() const {
  const auto first =
      std::find_if(rows_.begin(), rows_.end(), [](const Row& row) { return !is_over(row); });
  return static_cast<std::size_t>(first - rows_.begin());
}

bool Window::has_news() const {
  return uncommitted_ > 0 || !failure_noted_ || over_in_front() > 0 || !to_announce().empty();
}

WindowMove Window::move() {
  ensure(!moving_, "one commit is under way at a time");
  moving_ = true;
  failure_noted_ = true;
  for (auto* row : to_announce()) {
    row->announcing = true;
    row->attempts += 1;
    handed_to_ = std::max(handed_to_, row->record.sequence);
  }
  WindowMove move{cursor_, sequence_, {}, {}, handed_to_};
  bool in_front = true;
  for (auto& row : rows_) {
    if (row.state == State::answered) {
      row.state = State::moving;
      move.done.push_back(row.record.position);
    }
    const bool passes = row.state == State::called && mutant(Mutant::cursor_passes_undone);
    in_front = in_front && (is_over(row) || passes);
    const auto number = row.record.sequence;
    if (in_front) {
      move.to = row.record.position;
      move.sequence = std::max(move.sequence, number);
    } else if (number <= handed_to_) {
      const bool over = is_over(row);
      if (over && mutant(Mutant::done_ahead_forgotten)) continue;
      move.ahead.push_back({number, row.record.id(), over, over ? 0 : row.attempts});
    }
  }
  move.ahead.insert(move.ahead.end(), known_.begin(), known_.end());
  return move;
}

/// Rows that may be called once this commit is through, or the one after it. There are more than
/// can be called at once, so that a call that ends makes room for another without a commit between.
std::vector<Window::Row*> Window::to_announce() const {
  if (failures_ > 0) return {};
  const std::size_t most = alone_ > 0 ? 1 : 2 * limits_.in_flight + limits_.commit_every;
  std::size_t announced = 0;
  for (const auto& [number, row] : by_number_) {
    const bool open = row->state == State::waiting || row->state == State::called;
    announced += open && (row->announced || row->announcing) ? 1 : 0;
  }
  std::vector<Row*> rows;
  const auto take = [&](Row& row) {
    const bool waits = row.state == State::waiting && !row.announced && !row.announcing;
    if (waits && announced + rows.size() < most) rows.push_back(&row);
  };
  if (alone_ > 0) {
    for (const auto& [number, row] : ready_) {
      if (row->alone) take(*row);
    }
  }
  for (const auto& [number, row] : ready_) take(*row);
  if (alone_ > 0) return rows;
  for (const auto& [key, of_key] : keys_) {  // the row that comes after one that is on its way
    const auto state = of_key.front()->state;
    if (of_key.size() > 1 && state != State::waiting) take(*of_key[1]);
  }
  return rows;
}

void Window::moved() {
  ensure(moving_, "a commit was under way");
  moving_ = false;
  for (auto& row : rows_) {
    if (std::exchange(row.announcing, false)) row.announced = true;
    if (row.state != State::moving) continue;
    row.state = State::done;
    uncommitted_ -= 1;
    alone_ -= row.alone ? 1 : 0;
    if (limits_.commit_every <= 1) release(row);
    by_number_.erase(row.record.sequence);
  }
  pass_over(over_in_front());
}

void Window::pass_over(std::size_t rows) {
  for (; rows > 0; --rows) {
    cursor_ = rows_.front().record.position;
    sequence_ = std::max(sequence_, rows_.front().record.sequence);
    rows_.pop_front();
  }
}

}  // namespace seriatim::core

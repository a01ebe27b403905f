// Of the window: what is kept of rows after the cursor, and read again after a claim.
#include <algorithm>

#include "core/mutant.hpp"
#include "core/window.hpp"

namespace seriatim::core {

namespace {

/// What was kept of a row that did not come among so many is forgotten: it is gone. A window never
/// has as many (window_rows).
constexpr std::size_t come_among = 100'000;

}  // namespace

/// What was kept of it. Rows come in lane order, and what is kept is in it too: so what is kept of
/// others before this one is of rows that are gone.
void Window::recall(Row& row) {
  const auto& id = row.record->id();
  const auto done = std::find(known_done_.begin(), known_done_.end(), id);
  if (done != known_done_.end()) {
    known_done_.erase(known_done_.begin(), done + 1);
    row.state = known_aside_.contains(id) ? State::aside : State::done;
    return forget_up_to(id);
  }
  const auto open = std::find_if(known_open_.begin(), known_open_.end(),
                                 [&](const RowsAhead::Open& kept) { return kept.id == id; });
  if (open == known_open_.end()) {
    if (++unknown_rows_ > come_among) none_left();
    return forget_up_to(id);
  }
  if (!mutant(Mutant::numbers_forgotten)) {
    row.number = open->number;
    row.attempts = open->attempts;
  }
  row.alone = alone_ > 0 && row.attempts > 0;
  forget(open);
  known_open_.pop_front();
  forget_up_to(id);
}

/// After the last row of which something was kept.
void Window::forget_up_to(const std::string& id) {
  if (known_to_ && known_to_->id == id) none_left();
}

void Window::forget(std::deque<RowsAhead::Open>::iterator end) {
  if (alone_ > 0)
    alone_ -= static_cast<std::size_t>(std::count_if(known_open_.begin(), end, is_in_doubt));
  known_open_.erase(known_open_.begin(), end);
}

void Window::none_left() {
  forgot_ = forgot_ || !known_done_.empty() || !known_open_.empty();
  known_done_.clear();
  forget(known_open_.end());
}

bool Window::searches() const {
  return searches_ && !known_open_.empty() && !mutant(Mutant::kept_rows_not_awaited);
}

/// Kept rows that cannot be read yet may be of the key of the row that is announced, and numbers
/// grow within a key. So those that have a lower one lose it. If a receiver may have seen one, it
/// will queue.
void Window::lose_numbers_below(std::uint64_t number) {
  std::erase_if(known_open_,
                [&](const auto& known) { return known.attempts == 0 && known.number < number; });
  for (auto& known : known_open_) {
    if (known.number < number) known.number = 0;
  }
}

RowsAhead Window::ahead() const {
  RowsAhead ahead;
  ahead.numbered_to = numbered_to_;
  for (const auto& row : rows_) {
    const bool over = row.state == State::done || row.state == State::aside;
    // The queue may be gone when one that queues is read again.
    const bool seen = row.attempts > 0 && !mutant(Mutant::queue_forgotten);
    if (over || row.number > 0 || seen) ahead.to = row.record->position;
    if (over) {
      if (!mutant(Mutant::done_ahead_forgotten)) ahead.done.push_back(row.record->id());
      if (row.state == State::aside) ahead.set_aside.push_back(row.record->id());
    } else if (row.number > 0 || seen) {
      ahead.open.push_back({row.number, row.record->id(), row.attempts});
    }
  }
  if (!known_done_.empty() || !known_open_.empty()) ahead.to = known_to_;
  ahead.done.insert(ahead.done.end(), known_done_.begin(), known_done_.end());
  for (const auto& id : known_done_) {
    if (known_aside_.contains(id)) ahead.set_aside.push_back(id);
  }
  ahead.open.insert(ahead.open.end(), known_open_.begin(), known_open_.end());
  for (const auto& [place, row] : due_) {
    if (row.number > 0) ahead.aside.push_back({row.number, row.record->id(), row.attempts});
  }
  ahead.aside.insert(ahead.aside.end(), known_due_.begin(), known_due_.end());
  return ahead;
}

}  // namespace seriatim::core

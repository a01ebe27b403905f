// Of the window: rows that are set aside, and due rows, which were set aside before.
#include <algorithm>
#include <utility>

#include "core/ensure.hpp"
#include "core/mutant.hpp"
#include "core/window.hpp"

namespace seriatim::core {

std::size_t Window::due_wanted() const {
  const bool enough = ready_due_.size() >= limits_.in_flight;
  if (enough || failed_from_ != nowhere) return 0;
  return limits_.rows - std::min(limits_.rows, due_.size());
}

DueChoice Window::due_choice() const {
  DueChoice choice;
  for (const auto& known : known_due_) choice.first.push_back(known.id);
  for (const auto& [place, row] : due_) {
    if (row.due->holds_key) {
      choice.not_of.insert(key_of(row));
    } else {
      choice.not_these.push_back(row.record->id());
    }
  }
  for (const auto& row : late_queued_) choice.not_these.push_back(row.position.id);
  return choice;
}

/// Those that a receiver may have seen come first, in an order that a crash does not change: so
/// that the one that kills the process is known to be the first.
void Window::add_due(PollResult round) {
  std::vector<std::size_t> order;
  for (const bool first : {true, false}) {
    for (std::size_t i = 0; i < round.records.size(); ++i) {
      const auto known = find_known(round.records[i].id());
      if ((known != known_due_.end() && is_in_doubt(*known)) == first) order.push_back(i);
    }
  }
  for (auto& row : round.queued) queue_late(std::move(row));
  for (const auto i : order) {
    auto& row = due_[due_places_];
    row.place = due_places_++;
    row.record = std::make_shared<Record>(std::move(round.records[i]));
    row.due = std::move(round.due_rows[i]);
    recall_due(row);
    enqueue(row);
  }
  forgot_ = forgot_ || !known_due_.empty();
  if (alone_ > 0) {
    alone_ -=
        static_cast<std::size_t>(std::count_if(known_due_.begin(), known_due_.end(), is_in_doubt));
  }
  known_due_.clear();
}

std::vector<RowsAhead::Open>::iterator Window::find_known(const std::string& id) {
  return std::find_if(known_due_.begin(), known_due_.end(),
                      [&](const RowsAhead::Open& known) { return known.id == id; });
}

void Window::recall_due(Row& row) {
  const auto known = find_known(row.record->id());
  if (known == known_due_.end()) return;
  row.number = known->number;
  row.attempts = known->attempts;
  row.alone = alone_ > 0 && row.attempts > 0;
  known_due_.erase(known);
}

void Window::set_aside(std::uint64_t number, Park park) {
  auto& row = take_called(number);
  row.state = State::leaving;
  row.park = std::move(park);
  uncommitted_ += 1;
  setting_aside_ += 1;
}

void Window::set_first_aside(Park park) {
  auto* row = const_cast<Row*>(failed_row().row);
  ensure(row != nullptr, "the first row failed");
  row->state = State::leaving;
  row->park = std::move(park);
}

/// Later rows of its key queue, if it holds it.
void Window::leave(Row& row, WindowCommit& commit) {
  commit.parks.push_back(*std::exchange(row.park, std::nullopt));
  row.state = State::aside;
  row.record->payload.reset();
  row.record->headers.clear();
  alone_ -= row.alone ? 1 : 0;
  commit.parks.back().holds_key ? queue_key(row) : release(row);
}

/// Due rows that are done, or are put back. Their numbers are used up.
void Window::pass_due(WindowCommit& commit) {
  for (auto next = due_.begin(); next != due_.end();) {
    auto& row = next->second;
    if (row.state != State::done && row.state != State::leaving) {
      ++next;
      continue;
    }
    pass_number();
    if (row.state == State::done) {
      auto& done = row.due->redriven ? commit.done_aside : commit.done_late;
      done.push_back(row.record->position);
    } else {
      row.park->redriven = row.due->redriven;
      if (row.due->redriven) row.park->holds_key = row.due->holds_key;
      leave(row, commit);
    }
    next = due_.erase(next);
  }
}

/// Rows behind it: those that are due are put back with it, others queue.
void Window::queue_key(const Row& row) {
  if (mutant(Mutant::key_overlaps)) return release(row);
  const auto of_key = std::move(keys_.at(key_of(row)));
  keys_.erase(key_of(row));
  for (auto* other : of_key) {
    if (other == &row) continue;
    ensure(other->state == State::waiting || other->state == State::announced,
           "rows of a key go in order");
    drop_turn(*other);
    if (!other->due) {
      queue(*other);
      continue;
    }
    alone_ -= other->alone ? 1 : 0;
    if (!other->due->redriven) {
      queue_late({other->record->position, key_of(*other), 0, true});
    }
    due_.erase(other->place);
  }
}

/// A late row of the key goes out first. Only rows that a receiver may have seen are before it.
void Window::queue_waiting(const Key& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  auto& of_key = found->second;
  const auto waits = std::stable_partition(of_key.begin(), of_key.end(), [](const Row* row) {
    const bool announced = row->state == State::announced;
    const bool called = row->state != State::waiting && !announced;
    return row->due || called || row->attempts > (announced ? 1U : 0U);
  });
  std::for_each(waits, of_key.end(), [this](Row* row) {
    drop_turn(*row);
    queue(*row);
  });
  of_key.erase(waits, of_key.end());
  of_key.empty() ? static_cast<void>(keys_.erase(found)) : take_turn(*of_key.front());
}

/// It is the first of its key now, if it was not before.
void Window::take_turn(Row& row) {
  if (row.state == State::announced) callable_.emplace(row.place, &row);
  const auto& ready = row.due ? ready_due_ : ready_;
  if (row.state == State::waiting && !row.paced && !ready.contains(row.place)) make_ready(row);
}

/// Takes it out of the rows that may be announced or called next.
void Window::drop_turn(Row& row) {
  unannounce(row);
  (row.due ? ready_due_ : ready_).erase(row.place);
  if (!std::exchange(row.paced, false)) return;
  std::erase_if(paced_, [&](const auto& waiting) { return waiting.second == &row; });
}

/// One that is not written yet may be read again.
void Window::queue_late(QueuedRow row) {
  const auto known =
      std::any_of(late_queued_.begin(), late_queued_.end(),
                  [&](const QueuedRow& other) { return other.position.id == row.position.id; });
  if (known) return;
  queued_[row.key] += 1;
  late_queued_.push_back(std::move(row));
}

void Window::passed_queued(const Key& key) {
  const auto of_key = queued_.find(key);
  if (--of_key->second == 0) queued_.erase(of_key);
}

std::size_t Window::late_rows_of(const Key& key) const {
  return static_cast<std::size_t>(std::count_if(late_queued_.begin(), late_queued_.end(),
                                                [&](const auto& row) { return row.key == key; }));
}

bool Window::has_late_rows() const {
  return std::any_of(late_queued_.begin(), late_queued_.end(),
                     [this](const QueuedRow& row) { return may_be_queued(row); });
}

bool Window::is_due(const std::string& id) const {
  return std::any_of(due_.begin(), due_.end(),
                     [&](const auto& row) { return row.second.record->id() == id; });
}

/// Each uses up a number.
void Window::queue_late(WindowCommit& commit) {
  for (auto& row : std::exchange(late_queued_, {})) {
    if (!may_be_queued(row)) {
      late_queued_.push_back(std::move(row));
      continue;
    }
    passed_queued(row.key);
    row.before = commit.done.size();
    pass_number();
    commit.queued.push_back(std::move(row));
  }
}

}  // namespace seriatim::core

#include "core/window.hpp"

#include <algorithm>
#include <utility>

#include "core/ensure.hpp"
#include "core/mutant.hpp"

namespace seriatim::core {

Window::Window(Limits limits, const Cursor& cursor, Pace& pace, bool one_by_one, bool probes)
    : limits_(limits),
      pace_(pace),
      sequence_(cursor.sequence),
      numbered_to_(std::max(cursor.ahead.numbered_to, cursor.sequence)),
      read_to_(cursor.position),
      known_done_(cursor.ahead.done.begin(), cursor.ahead.done.end()),
      known_aside_(cursor.ahead.set_aside.begin(), cursor.ahead.set_aside.end()),
      known_open_(cursor.ahead.open.begin(), cursor.ahead.open.end()),
      known_due_(cursor.ahead.aside),
      known_to_(cursor.ahead.to),
      searches_(true),
      places_(first_place),
      failed_from_(nowhere),
      probes_(probes) {
  if (mutant(Mutant::due_numbers_forgotten)) known_due_.clear();
  if (!one_by_one || mutant(Mutant::doubtful_together)) return;
  alone_ =
      static_cast<std::size_t>(std::count_if(known_open_.begin(), known_open_.end(), is_in_doubt) +
                               std::count_if(known_due_.begin(), known_due_.end(), is_in_doubt));
}

// --- reading ------------------------------------------------------------------------------------

/// Enough to keep the calls busy; more may be needed where keys wait for one another.
std::size_t Window::wanted() const {
  const bool enough = ready_.size() >= limits_.in_flight + limits_.commit_every;
  if ((enough || failed_from_ != nowhere) && !searches()) return 0;
  return limits_.rows - std::min(limits_.rows, rows_.size());
}

void Window::add(PollResult round) {
  auto queued = round.queued.begin();
  for (std::size_t i = 0; i <= round.records.size(); ++i) {
    for (; queued != round.queued.end() && queued->before == i; ++queued) {
      if (queued->late) {
        if (is_due(queued->position.id)) continue;  // of a batch that one call left
        queue_waiting(queued->key);
        queue_late(std::move(*queued));
        continue;
      }
      auto& row = push(std::move(queued->position), std::move(queued->key));
      if (!is_over(row)) queue(row);
    }
    if (i == round.records.size()) break;
    auto& record = round.records[i];
    auto& row = push(record.position, record.key);
    *row.record = std::move(record);
    if (is_over(row)) continue;
    queues(row) ? queue(row) : enqueue(row);
  }
  if (rows_.size() >= limits_.rows) read_to_end();
}

/// Behind rows of its key that queue, or because so many of them wait that there would be no room
/// for other keys.
bool Window::queues(const Row& row) const {
  const auto& key = row.record->key;
  const bool queued_before = row.attempts > 0 && row.number == 0;
  if (queued_before) return true;  // others of its key may have greater numbers since
  if (const auto queued = queued_.find(key); queued != queued_.end()) {
    const bool goes_first = row.attempts > 0 && queued->second == late_rows_of(key);
    return !goes_first && !mutant(Mutant::queue_passed_by);
  }
  const auto of_key = keys_.find(key);
  return limits_.rows_of_key > 0 && of_key != keys_.end() &&
         of_key->second.size() >= limits_.rows_of_key;
}

void Window::queue(Row& row) {
  row.state = State::queued;
  queued_[row.record->key] += 1;
  alone_ -= row.alone ? 1 : 0;
  row.number = 0;  // it goes out after others of its key, so under a later one
}

/// A parked row has the one under which it is aside: it may have been given another one since.
const Window::Key& Window::key_of(const Row& row) {
  return row.due && row.due->redriven ? row.due->key : row.record->key;
}

/// Behind the rows of its key. One that has a number already goes before those that have a greater
/// one, or none: they appeared since, and numbers grow within a key.
void Window::enqueue(Row& row) {
  auto& of_key = keys_[key_of(row)];
  const auto behind = std::find_if(of_key.begin(), of_key.end(), [&](const Row* other) {
    const bool later = other->number == 0 || other->number > row.number;
    return row.number > 0 && later && other->state == State::waiting;
  });
  if (behind == of_key.begin() && !of_key.empty()) drop_turn(*of_key.front());
  of_key.insert(behind, &row);
  if (of_key.front() == &row || mutant(Mutant::key_overlaps)) make_ready(row);
}

void Window::make_ready(Row& row) {
  const auto free_at = pace_.key_free_at(key_of(row));
  row.paced = free_at > now_;
  if (row.paced) {
    paced_.emplace(std::pair(free_at, row.place), &row);
    return;
  }
  (row.due ? ready_due_ : ready_).emplace(row.place, &row);
}

Window::Row& Window::push(Position position, Key key) {
  auto& row = rows_.emplace_back();
  row.record = std::make_shared<Record>();
  row.record->position = std::move(position);
  row.record->key = std::move(key);
  row.place = places_++;
  read_to_ = row.record->position;
  recall(row);
  return row;
}

// --- calls --------------------------------------------------------------------------------------

std::vector<std::shared_ptr<Record>> Window::begin(Time now) {
  std::vector<std::shared_ptr<Record>> rows;
  while (auto* row = next_call(now)) {
    pace_.take(key_of(*row), now);
    callable_.erase(row->place);
    row->state = State::called;
    row->record->sequence = row->number;
    row->record->attempt = row->attempts + (row->due ? row->due->attempts : 0);
    by_number_.emplace(row->number, row);
    calls_ += 1;
    due_was_last_ = row->due.has_value();
    rows.push_back(row->record);
  }
  return rows;
}

void Window::answered(std::uint64_t number, const Outcome& outcome) {
  auto& row = take_called(number);
  if (!outcome.is_done()) {
    row.state = State::failed;
    row.outcome = outcome;
    if (!mutant(Mutant::failure_passed)) failed_from_ = std::min(failed_from_, row.place);
    return;
  }
  row.state = State::answered;
  probes_ = false;
  uncommitted_ += 1;
  if (limits_.commit_every > 1) release(row);
}

Window::Row& Window::take_called(std::uint64_t number) {
  auto& row = *by_number_.at(number);
  ensure(row.state == State::called, "an answer belongs to a call");
  by_number_.erase(number);
  calls_ -= 1;
  open_ -= 1;
  open_due_ -= row.due ? 1 : 0;
  return row;
}

Window::Failed Window::failure(std::uint64_t number, const Outcome& outcome) const {
  const auto& row = *by_number_.at(number);
  return {row.record, outcome, row.attempts, row.due};
}

void Window::not_begun(std::uint64_t number) {
  auto& row = *by_number_.at(number);
  by_number_.erase(number);
  calls_ -= 1;
  pace_.give_back(key_of(row));
  row.state = State::announced;
  callable_.emplace(row.place, &row);
  if (late_rows_of(key_of(row)) > 0) queue_waiting(key_of(row));
}

std::optional<Window::Failed> Window::failed() const {
  const auto [row, first] = calls_ == 0 ? failed_row() : FailedRow{};
  if (!row) return std::nullopt;
  return Failed{row->record, row->outcome, row->attempts, row->due, first};
}

/// The first that failed, if those before it only wait: for it, or for their rate limit.
Window::FailedRow Window::failed_row() const {
  for (const auto& [place, row] : due_) {
    if (row.state == State::failed) return {&row};
  }
  if (failed_from_ == nowhere) return {};
  bool first = true;
  for (const auto& row : rows_) {
    if (row.state == State::failed) return {&row, first};
    if (is_over(row) || row.state == State::answered || row.state == State::leaving) continue;
    if (can_be_called(row)) return {};
    first = first && !keys_.at(key_of(row)).front()->paced;
  }
  return {};
}

/// Now, or once a row of its key that can be called now is done.
bool Window::can_be_called(const Row& row) const {
  const auto& next = *keys_.at(key_of(row)).front();
  return next.state != State::failed && !next.paced;
}

const Record* Window::first() const {
  const auto due =
      std::find_if(due_.begin(), due_.end(), [](const auto& row) { return row.second.alone; });
  if (due != due_.end()) return due->second.record.get();
  const bool alone = std::any_of(rows_.begin(), rows_.end(),
                                 [](const Row& row) { return row.alone && !is_over(row); });
  if (!alone && alone_ > 0) return nullptr;  // it cannot be read yet
  const auto first = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return !is_over(row) && row.alone == alone;
  });
  return first == rows_.end() ? nullptr : first->record.get();
}

/// The next row of its key may go out.
void Window::release(const Row& row) {
  const auto found = keys_.find(key_of(row));
  auto& of_key = found->second;
  if (mutant(Mutant::key_overlaps)) {
    std::erase(of_key, &row);
  } else {
    ensure(of_key.front() == &row, "rows of a key go in order");
    of_key.pop_front();
  }
  if (of_key.empty()) {
    keys_.erase(found);
    return;
  }
  take_turn(*of_key.front());
}

// --- commits ------------------------------------------------------------------------------------

bool Window::is_over(const Row& row) {
  return row.state == State::done || row.state == State::queued || row.state == State::aside;
}

bool Window::has_news() const {
  const bool passes = !rows_.empty() && is_over(rows_.front());
  const bool unused = is_empty() && numbered_to_ > sequence_;
  return uncommitted_ > 0 || has_late_rows() || passes || unused || forgot_ || can_announce();
}

bool Window::can_announce() const {
  return !searches() && open_ < most_announced() && next_ready() != nullptr;
}

/// By a row that failed, unless a row before the one that failed waits for it.
bool Window::is_held_up(const Row& row) const {
  if (failed_from_ == nowhere) return false;
  if (failed_from_ < first_place) return row.place >= failed_from_;
  if (!row.due && row.place < failed_from_) return false;
  const auto& of_key = keys_.at(key_of(row));
  return std::none_of(of_key.begin(), of_key.end(), [this](const Row* other) {
    return other->place >= first_place && other->place < failed_from_;
  });
}

/// Due rows leave half of the calls to others: a receiver may hang at each of them.
bool Window::has_call_for_due() const {
  return open_due_ < std::max(1U, limits_.in_flight / 2);
}

Window::Row* Window::next_ready() const {
  for (const auto& [place, row] : ready_due_) {
    if (!has_call_for_due()) break;
    if (!is_held_up(*row)) return row;
  }
  Row* first = nullptr;
  for (const auto& [place, row] : ready_) {
    if (is_held_up(*row)) continue;
    if (row->alone) return row;
    if (!first) first = row;
    if (alone_ == 0) break;
  }
  return first;
}

/// A row that is announced may have been called when a process ends, and is called again then.
std::size_t Window::most_open() const {
  return alone_ > 0 || probes_ ? 1 : std::size_t{limits_.in_flight} + limits_.commit_every;
}

WindowCommit Window::commit(bool goes_on) {
  ensure(goes_on || calls_ == 0, "a window stops once its calls have ended");
  WindowCommit commit;
  for (auto& row : rows_) row.state == State::leaving ? leave(row, commit) : finish(row);
  for (auto& [place, row] : due_) finish(row);
  uncommitted_ = setting_aside_ = 0;
  forgot_ = false;
  queue_late(commit);
  pass(commit);
  pass_due(commit);
  queue_late(commit);
  if (goes_on) {
    announce();
  } else {
    take_back();
  }
  commit.in_flight.ahead = ahead();
  ensure(numbered_to_ >= sequence_, "no more numbers are passed than were given");
  if (commit.in_flight.ahead.empty()) {
    commit.in_flight.ahead = {};
    commit.unused = numbered_to_ - sequence_;
    sequence_ = numbered_to_;
  }
  commit.in_flight.numbers = numbered_to_ - sequence_;
  commit.in_flight.attempts = attempts_at_first();
  commit.in_flight.calls = open_ > 0;
  commit.in_flight.late_rows_left = !late_queued_.empty();
  return commit;
}

void Window::finish(Row& row) {
  if (row.state != State::answered) return;
  row.state = State::done;
  row.record->payload.reset();  // it may wait here for long
  row.record->headers.clear();
  alone_ -= row.alone ? 1 : 0;
  if (limits_.commit_every <= 1) release(row);
}

/// The cursor moves over what is done.
void Window::pass(WindowCommit& commit) {
  const auto passes = [](const Row& row) {
    return is_over(row) || (row.state == State::called && mutant(Mutant::cursor_passes_undone));
  };
  while (!rows_.empty() && passes(rows_.front())) {
    auto& row = rows_.front();
    if (row.state == State::queued) passed_queued(row.record->key);
    if (row.state != State::done && row.state != State::called) {
      commit.queued.push_back({.position = row.record->position,
                               .key = row.record->key,
                               .before = commit.done.size(),
                               .aside = row.state == State::aside});
    } else {
      commit.done.push_back(row.record->position);
    }
    pass_number();
    if (row.state == State::called) break;  // by the mutant
    rows_.pop_front();
  }
}

/// A row that queues has used none, so that more may be passed than were given.
void Window::pass_number() {
  sequence_ += 1;
  numbered_to_ = std::max(numbered_to_, sequence_);
}

/// Rows that may be called once this commit is through. There are more than can be called at once,
/// so that a call that ends makes room for another without a commit between.
void Window::announce() {
  while (can_announce()) announce(*next_ready());
  if (searches() || failed_from_ != nowhere || alone_ > 0 || probes_) return;
  if (limits_.commit_every <= 1) return;
  for (const auto& [key, of_key] : keys_) {  // the row after one that is on its way
    if (open_ >= most_announced()) return;
    const bool next = of_key.size() > 1 && of_key[0]->state != State::waiting &&
                      of_key[1]->state == State::waiting && !is_held_up(*of_key[1]) &&
                      (!of_key[1]->due || has_call_for_due()) && !pace_.limits_keys();
    if (next) announce(*of_key[1]);
  }
}

void Window::announce(Row& row) {
  if (row.number == 0) row.number = ++numbered_to_;
  lose_numbers_below(row.number);
  row.attempts += 1;
  row.state = State::announced;
  open_ += 1;
  open_due_ += row.due ? 1 : 0;
  auto& ready = row.due ? ready_due_ : ready_;
  if (ready.erase(row.place) > 0) callable_.emplace(row.place, &row);
}

void Window::take_back(bool (Window::*which)(const Row&) const) {
  const auto announced = [&](const Row& row) {
    return row.state == State::announced && (!which || (this->*which)(row));
  };
  for (auto& row : rows_) {
    if (announced(row)) take_back(row);
  }
  for (auto& [place, row] : due_) {
    if (announced(row)) take_back(row);
  }
}

void Window::take_back(Row& row) {
  const bool first = callable_.contains(row.place);
  unannounce(row);
  if (first) make_ready(row);
}

void Window::unannounce(Row& row) {
  if (row.state != State::announced) return;
  row.state = State::waiting;
  row.attempts -= 1;
  open_ -= 1;
  open_due_ -= row.due ? 1 : 0;
  callable_.erase(row.place);
}

unsigned Window::attempts_at_first() const {
  const auto known =
      rows_.empty() || rows_.front().state == State::waiting ? 0U : rows_.front().attempts;
  return open_ > 0 ? std::max(known, 1U) : known;
}

}  // namespace seriatim::core

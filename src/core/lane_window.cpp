// Of the lane (lane.hpp): several calls in flight.
#include <algorithm>
#include <utility>

#include "core/lane.hpp"
#include "core/mutant.hpp"

namespace seriatim::core {

using std::chrono::milliseconds;

/// What several calls left after the cursor is finished by a window, also if there is to be one
/// call from now on. What one call left is finished by one call: a receiver may have seen the
/// numbers after the cursor's.
bool Lane::several() const {
  if (cursor_.ahead != RowsAhead{}) return true;
  const bool left_open = cursor_.attempts > 0 || cursor_.handed_to > cursor_.sequence;
  return config_.in_flight > 1 && !left_open;
}

/// After a claim, a failure or an act the window is made anew of what the cursor's row says.
Action Lane::fill_window(const Moment& moment) {
  if (!window_) {
    const bool leaves_room = config_.on_retry == OnRetry::hold_key;
    const Window::Limits limits{config_.in_flight, config_.commit_every, config_.window_rows,
                                leaves_room ? std::max(config_.window_rows / key_share, 1U) : 0};
    const bool probes = cursor_.state == Cursor::State::retrying || failed_in_turn_ > 0;
    window_.emplace(limits, cursor_, pace_, cursor_.crashes > 0, probes);
    round_.unreadable.reset();
    uncalled_.reset();
  }
  if (wants_due_rows(moment)) return poll_due();
  const auto rows =
      static_cast<unsigned>(std::clamp<std::size_t>(window_->wanted(), 1, config_.batch_rows));
  flight_.rows_asked = rows;
  return PollForWindow{window_->read_to(), rows, window_->is_empty(), {}, cursor_.position};
}

bool Lane::wants_due_rows(const Moment& moment) const {
  const bool due = flight_.due_next || (held_until_ && moment.now >= *held_until_);
  return due && window_->due_wanted() > 0;
}

/// As many at least as the window knows of, which come first.
Action Lane::poll_due() {
  auto choice = window_->due_choice();
  const auto rows = std::clamp<std::size_t>(window_->due_wanted(), 1, config_.batch_rows);
  const auto rows_max = static_cast<unsigned>(std::max(rows, choice.first.size()));
  flight_.asked_for_due = true;
  return PollForWindow{cursor_.position, rows_max, false, std::move(choice)};
}

Action Lane::add_due(PollResult round, const Moment& moment) {
  const bool none = round.records.empty();
  flight_.due_next = false;
  held_until_.reset();
  if (round.held_for) {
    held_until_ = moment.now +
                  (none ? std::max(*round.held_for, config_.poll_interval_min) : *round.held_for);
  }
  if (!none) {
    idle_interval_ = milliseconds{0};
    enter(LaneState::running);
  }
  window_->add_due(std::move(round));
  if (!kills()) return advance(moment);
  auto id = row_that_kills();
  if (!id) return fill_window(moment);  // no call before it is known
  drop_window();
  return halt(HaltReason::crashes, *std::move(id), crashes_text(cursor_.crashes));
}

/// The first crash has no known cause: several rows were in flight. After it they go out one by
/// one, so that the next one has.
bool Lane::kills() const {
  return config_.max_crashes > 0 && cursor_.crashes > config_.max_crashes;
}

std::optional<std::string> Lane::row_that_kills() const {
  const auto* first = kills() ? window_->first() : nullptr;
  return first ? std::optional(first->id()) : std::nullopt;
}

Action Lane::add_rows(PollResult round, const Moment& moment) {
  const auto rows = round.records.size() + static_cast<std::size_t>(std::count_if(
                                               round.queued.begin(), round.queued.end(),
                                               [](const QueuedRow& row) { return !row.late; }));
  round_ = {};
  round_.fenced = round.fenced;
  round_.blockers = std::move(round.blockers);
  round_.unreadable = std::move(round.unreadable);
  const bool late = rows < round.records.size() + round.queued.size();
  const auto known = window_->late_rows();
  window_->add(std::move(round));
  // Late rows come before others of their keys.
  flight_.revokes = flight_.revokes || window_->late_rows() > known;
  flight_.read_more = rows >= flight_.rows_asked;
  if (rows == 0 || round_.unreadable) window_->read_to_end();
  if (rows == 0) {
    const bool may_come = round_.fenced || round_.unreadable || cursor_.barrier || late;
    if (!may_come) window_->none_left();
    if (window_->is_empty() && !window_->has_news()) return nothing_to_do(moment);
    idle_interval_ = std::clamp(idle_interval_ * 2, config_.poll_interval_min, idle_interval_max());
    flight_.read_at = moment.now + idle_interval_;
    return advance(moment);
  }
  idle_interval_ = milliseconds{0};
  flight_.read_at = moment.now;
  enter(LaneState::running);
  auto id = row_that_kills();
  if (!id) return advance(moment);
  drop_window();
  return halt(HaltReason::crashes, *std::move(id), crashes_text(cursor_.crashes));
}

/// Calls begin, what became of them is committed, rows are read: in this order, so that there is
/// always something to call.
Action Lane::advance(const Moment& moment) {
  auto& window = *window_;
  window.wake(moment.now);
  if (stops(moment)) {
    if (calls_out_ == 0) return commit(moment);
    return collect(moment.now + config_.lease, true);
  }
  const bool revokes = std::exchange(flight_.revokes, false);
  if (calls_out_ > 0 && (revokes || !std::exchange(flight_.collected, false))) {
    return collect(moment.now, revokes);
  }
  // A row that waited for its rate limit since the last commit may have waited too long.
  const auto token_at = window.token_at();
  const bool waited = token_at && *token_at <= moment.now && *token_at > announced_at_;
  if (waited && moment.now >= announced_at_ + call_begin_max / 2) flight_.again = true;
  if (auto rows = flight_.again ? Rows{} : window.begin(moment.now); !rows.empty()) {
    return call_rows(std::move(rows), moment);
  }
  if (failed() || commit_is_due(moment)) return commit(moment);
  if (wants_due_rows(moment)) return poll_due();
  const bool reads = window.wanted() > 0 && !round_.unreadable;
  if (reads && (flight_.read_more || window.is_empty() || moment.now >= flight_.read_at)) {
    return fill_window(moment);
  }
  if (!window.has_rows() && round_.unreadable) return nothing_to_do(moment);
  auto until = claimed_at_ + config_.lease / 3;
  if (window.uncommitted() > 0) until = std::min(until, flight_.answered_since + config_.max_hold);
  if (reads) until = std::min(until, flight_.read_at);
  if (held_until_ && window.due_wanted() > 0) until = std::min(until, *held_until_);
  if (token_at) until = std::min(until, *token_at);
  return collect(until, false);
}

/// A row at which the lane stops now. It halts at the first row only.
std::optional<Window::Failed> Lane::failed() const {
  auto failed = window_->failed();
  const bool may_wait = failed && !failed->first && halts_at(*failed);
  return may_wait ? std::nullopt : failed;
}

bool Lane::halts_at(const Window::Failed& failed) const {
  const auto all = failed.attempts + (failed.due ? failed.due->attempts : 0);
  const bool poison = failed.outcome.kind == Outcome::Kind::poison || gives_up(all);
  const bool parks = config_.on_poison != OnPoison::halt && has_room_to_park();
  return (poison && !parks) || halts_unknown(failed.outcome);
}

/// The lane is to be left, a person wants a turn, or the source is broken.
bool Lane::stops(const Moment& moment) const {
  return going(moment) || flight_.turn_wanted || flight_.broken;
}

Action Lane::call_rows(Rows rows, const Moment& moment) {
  CallRows calls{{}, false, announced_at_ + call_begin_max, moment.now};
  for (auto& row : rows) {
    row->process = config_.name;
    row->lane = lane_;
    row->epoch = cursor_.epoch;
    row->set_aside = cursor_.set_aside;
    row->order_by_key = config_.in_flight > 1;
    calls.rows.push_back(std::move(row));
  }
  calls_out_ += calls.rows.size();
  flight_.asked_back = false;
  return calls;
}

Action Lane::collect(Time until, bool revoke) {
  flight_.asked_back = revoke;
  return CallRows{{}, revoke, announced_at_ + call_begin_max, until};
}

/// Half of the answers that may wait are committed while the other half comes in.
bool Lane::commit_is_due(const Moment& moment) const {
  if (flight_.again || renewal_due(moment)) return true;
  if (!window_->has_news()) return false;
  if (window_->has_late_rows()) return true;
  if (calls_out_ == 0 || window_->uncommitted() >= (config_.commit_every + 1) / 2) return true;
  const bool idle_calls = calls_out_ < config_.in_flight && window_->can_announce();
  return idle_calls ||
         (window_->uncommitted() > 0 && moment.now >= flight_.answered_since + config_.max_hold);
}

Action Lane::commit(const Moment& moment) {
  Fate fate = Rest{};
  if (flight_.broken) fate = *flight_.broken;
  const auto failed = flight_.broken ? std::nullopt : this->failed();
  if (failed) {
    fate = fate_of(
        {*failed->row, failed->outcome, failed->attempts, failed->due ? &*failed->due : nullptr},
        moment);
    if (auto* park = std::get_if<Park>(&fate)) {
      window_->set_first_aside(*std::move(park));
      fate = Rest{};
    }
  }
  flight_.stopped = failed || stops(moment);
  auto written = window_->commit(!flight_.stopped);
  Settlement settlement{.from = cursor_.position,
                        .done = std::move(written.done),
                        .queued = std::move(written.queued),
                        .fate = std::move(fate),
                        .unused = written.unused,
                        .in_flight = std::move(written.in_flight),
                        .done_aside = std::move(written.done_aside),
                        .done_late = std::move(written.done_late),
                        .parks = std::move(written.parks)};
  const bool frees_keys = !settlement.done_aside.empty() || !settlement.done_late.empty();
  flight_.due_next = flight_.due_next || frees_keys || !settlement.parks.empty();
  if (settlement.failed() && failed) settlement.in_flight->attempts = failed->attempts;
  flight_.again = false;
  announced_at_ = claimed_at_ = moment.now;
  flight_.settled = after(settlement);
  failure_ = settlement.fate;
  return Settle{cursor_.epoch, std::move(settlement)};
}

/// The cursor's row once this is committed.
Cursor Lane::after(const Settlement& settlement) const {
  auto cursor = cursor_;
  const auto aside = settlement.queued.size() + settlement.put_back() + settlement.parked_late() +
                     settlement.unused;
  const auto rows =
      settlement.done.size() + settlement.done_aside.size() + settlement.done_late.size() + aside;
  if (!settlement.done.empty()) cursor.position = settlement.done.back();
  for (const auto& row : settlement.queued) {
    if (!row.late && row.before == settlement.done.size()) cursor.position = row.position;
  }
  cursor.sequence += rows;
  cursor.set_aside += aside;
  cursor.ahead = settlement.in_flight->ahead;
  cursor.attempts = settlement.in_flight->attempts;
  cursor.state = Cursor::State::running;
  cursor.detail.clear();
  cursor.row_id.reset();
  if (rows > 0) cursor.crashes = 0;
  return cursor;
}

Action Lane::committed(Settled& event, const Moment& moment) {
  const auto fate = *std::exchange(failure_, std::nullopt);
  auto cursor = std::move(*std::exchange(flight_.settled, std::nullopt));
  if (event.grant == Grant::lost) return refused(moment);
  cursor_ = std::move(cursor);
  count_aside(event);
  flight_.due_next = flight_.due_next || event.makes_due;
  if (event.grant == Grant::held) flight_.turn_wanted = true;
  if (!flight_.stopped) return advance(moment);
  const bool turn_wanted = flight_.turn_wanted;
  suffer(fate);
  drop_window();
  return turn_wanted && !going(moment) && std::holds_alternative<Rest>(fate)
             ? wait_for_turn(moment)
             : follow_cursor(moment);
}

Action Lane::handle(Answered& event, const Moment& moment) {
  for (const auto& [number, outcome, took] : event.answers) {
    calls_out_ -= 1;
    if (mutant(Mutant::calls_not_awaited) && !window_->is_called(number)) continue;
    if (!outcome) {
      window_->not_begun(number);
      if (!flight_.asked_back) announce_again();
      continue;
    }
    if (window_->uncommitted() == 0) flight_.answered_since = moment.now;
    if (outcome->is_done()) failed_in_turn_ = 0;
    if (set_aside(number, *outcome, moment)) continue;
    // Rows after one that fails are taken back where they wait for their call.
    flight_.revokes = flight_.revokes || !outcome->is_done();
    window_->answered(number, *outcome);
  }
  flight_.collected = true;
  if (event.early) flight_.read_at = moment.now;  // new rows, perhaps
  return advance(moment);
}

/// A row that failed, unless the lane is to stop at it.
bool Lane::set_aside(std::uint64_t number, const Outcome& outcome, const Moment& moment) {
  if (outcome.is_done()) return false;
  const auto failed = window_->failure(number, outcome);
  if (!may_be_set_aside(failed)) return false;
  const auto fate =
      fate_of({*failed.row, outcome, failed.attempts, failed.due ? &*failed.due : nullptr}, moment);
  const auto* park = std::get_if<Park>(&fate);
  if (!park) return false;
  if (park->retry_in) {
    const auto due_at = moment.now + *park->retry_in;
    held_until_ = std::min(held_until_.value_or(due_at), due_at);
  }
  window_->set_aside(number, *park);
  return true;
}

/// At once. The others are dealt with one by one: a broken receiver, and too many rows aside.
bool Lane::may_be_set_aside(const Window::Failed& failed) const {
  const auto more = window_->setting_aside();
  if (failed.outcome.kind == Outcome::Kind::poison) {
    const bool was_parked = failed.due && failed.due->redriven && failed.due->attempts == 0;
    return was_parked || has_room_to_park(more);
  }
  const bool redriven = failed.due && failed.due->redriven;
  return redriven ||
         (failed_in_turn_ < held_at_once && cursor_.held_keys + more < config_.max_held_keys);
}

/// It took too long since the last commit.
void Lane::announce_again() {
  flight_.again = true;
  enter(LaneState::running, not_begun_text());
}

/// Nothing that needs the lane, or gives it up, is done before its calls have ended: a row must not
/// go out while an earlier call with it, or with one of its key, may still arrive.
Action Lane::after_calls(Action action, const Moment& moment) {
  const auto* settle = std::get_if<Settle>(&action);
  const bool runs_next_to_calls =
      std::holds_alternative<CallRows>(action) || std::holds_alternative<PollForWindow>(action) ||
      std::holds_alternative<WaitUntil>(action) || (settle && settle->settlement.in_flight);
  if (calls_out_ == 0 || runs_next_to_calls || mutant(Mutant::calls_not_awaited)) return action;
  then_ = std::move(action);
  drop_window();
  return collect(moment.now + config_.lease, true);
}

/// What became of calls whose window is gone is lost: the cursor's row says that they were
/// announced.
Action Lane::collected(const Answered& event, const Moment& moment) {
  calls_out_ -= event.answers.size();
  if (calls_out_ > 0) return collect(moment.now + config_.lease, true);
  return *std::exchange(then_, std::nullopt);
}

void Lane::drop_window() {
  window_.reset();
  flight_ = {};
}

}  // namespace seriatim::core

#include "core/lane.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/backoff.hpp"
#include "core/ensure.hpp"
#include "core/mutant.hpp"
#include "core/queueing.hpp"

namespace seriatim::core {

using std::chrono::milliseconds;

namespace {

constexpr unsigned longest_backoff = 32;  ///< after so many failures it has reached its maximum

}  // namespace

Lane::Lane(const ProcessConfig& config, unsigned lane, Options options)
    : config_(config), lane_(lane), options_(options), pace_(config) {}

LaneStatus Lane::status() const {
  LaneStatus status;
  status.process = config_.name;
  status.lane = lane_;
  status.state = state_;
  status.position = cursor_.position;
  status.sequence = cursor_.sequence;
  status.epoch = cursor_.epoch;
  status.in_flight = calls_out_;
  status.attempts = cursor_.attempts;
  status.parked = cursor_.parked;
  status.detail = detail_;
  status.fenced_for = fenced_for_;
  if (state_ == LaneState::fenced) status.blockers = round_.blockers;
  if (state_ == LaneState::halted) status.reason = cursor_.reason;
  if (state_ == LaneState::retrying) status.retry_in = cursor_.retry_in;
  if (status.reason || state_ == LaneState::retrying) status.row_id = cursor_.row_id;
  return status;
}

Action Lane::on(Event event, const Moment& moment) {
  const auto* answered = std::get_if<Answered>(&event);
  if (answered && !window_) return collected(*answered, moment);
  return after_calls(std::visit([&](auto& e) { return handle(e, moment); }, event), moment);
}

// --- from no session to a claimed lane ---------------------------------------------------------

Action Lane::handle(Begin&, const Moment& moment) {
  if (going(moment)) return depart(moment);
  return OpenSession{};
}

Action Lane::handle(Opened&, const Moment& moment) {
  has_ = Has::session;
  stale_ = false;
  if (going(moment)) return depart(moment);
  return ClaimLane{};
}

Action Lane::handle(Claimed& event, const Moment& moment) {
  session_failures_ = 0;
  has_ = event.claim.granted ? Has::lane : Has::session;
  claimed_at_ = moment.now;
  const bool idle_still =
      event.claim.granted && moment.now < wake_at_ && is_idle_at(event.claim.cursor);
  if (event.claim.cursor.epoch != cursor_.epoch) refused_since_.reset();
  read_cursor(event.claim.cursor, event.claim.rejoined);
  if (has_ != Has::lane) {
    enter(LaneState::standby, held_by(event.claim));
    return stand_by(event.claim.holder_lives, moment);
  }
  refused_since_.reset();
  held_epoch_ = cursor_.epoch;
  if (idle_still && !going(moment)) return rest(moment);
  drop_window();
  if (cursor_.crashes > 0) solo_rows_ = std::max(solo_rows_, config_.batch_rows);
  return follow_cursor(moment);
}

/// Nothing to do, nor anything new in the row: an operator's act raises the epoch or changes the
/// state.
bool Lane::is_idle_at(const Cursor& cursor) const {
  return state_ == LaneState::idle && cursor.epoch == cursor_.epoch &&
         cursor.position == cursor_.position && cursor.state == Cursor::State::running;
}

/// Names the holder. If the lane was taken from us, it says so: what we had in flight then was
/// refused.
std::string Lane::held_by(const Claim& claim) const {
  if (!claim.waits_for.empty()) return claim.waits_for;
  if (claim.holder.empty()) return "the cursor row is locked";
  const auto epoch = claim.cursor.epoch;
  if (held_epoch_ == 0 || epoch == held_epoch_) return "held by " + claim.holder;
  return "fenced: " + claim.holder + " took over (epoch " + std::to_string(held_epoch_) + " → " +
         std::to_string(epoch) + ")";
}

/// Draining too, for as long as a holder that died may still be named: in a call, if it is not seen
/// to live. One that lives keeps the lane, and then it was not drained. An act, or another holder,
/// begins the wait anew, because it makes those who wait watch the lease from its beginning.
Action Lane::stand_by(bool holder_lives, const Moment& moment) {
  if (going(moment)) return depart(moment);
  if (!refused_since_) refused_since_ = moment.now;
  const auto lease = holder_lives ? config_.lease : call_lease(config_);
  const auto patience = lease + config_.standby_interval;
  if (options_.drain && moment.now > *refused_since_ + patience) return Finish{};
  wake_at_ = moment.now + config_.standby_interval;
  return rest(moment);
}

Action Lane::handle(CursorRead& event, const Moment& moment) {
  const bool replaced = event.cursor.epoch != cursor_.epoch;
  if (replaced && !mutant(Mutant::no_epoch)) return refused(moment);
  const bool unchanged = event.cursor.position == cursor_.position && !event.cursor.held &&
                         event.cursor.state == Cursor::State::running;
  read_cursor(event.cursor);
  if (waits_for_token_ && unchanged && !going(moment)) return rest(moment);
  waits_for_token_ = false;
  drop_window();
  return follow_cursor(moment);
}

/// Do what the cursor row says: an operator may have changed it.
Action Lane::follow_cursor(const Moment& moment) {
  if (going(moment)) return depart(moment);
  if (cursor_.held) return wait_for_turn(moment);
  switch (cursor_.state) {
    case Cursor::State::halted:
    case Cursor::State::paused:
      enter(cursor_.state == Cursor::State::halted ? LaneState::halted : LaneState::paused,
            cursor_.detail);
      if (options_.drain) return leave();
      wake_at_ = moment.now + operator_interval;
      return rest(moment);
    case Cursor::State::retrying:
      if (cursor_.retry_in > milliseconds{0}) {
        enter(LaneState::retrying, cursor_.detail);
        wake_at_ = moment.now + cursor_.retry_in;
        return rest(moment);
      }
      return poll(moment);
    case Cursor::State::running: break;
  }
  return poll(moment);
}

// --- rows ---------------------------------------------------------------------------------------

Action Lane::poll(const Moment& moment) {
  waits_for_token_ = false;
  if (!round_.fenced) round_ = {};  // who holds up a fenced one is to be seen until the next poll
  next_ = next_queued_ = 0;
  if (stale_) {  // what the session knows of its source may be what was corrected meanwhile
    has_ = Has::nothing;
    return OpenSession{};
  }
  if (several()) return fill_window(moment);
  drop_window();  // it has finished what several calls had left
  const bool alone = solo_rows_ > 0 || cursor_.crashes > 0;
  return PollSource{cursor_.position, alone ? 1 : config_.batch_rows, cursor_.attempts == 0};
}

Action Lane::handle(Polled& event, const Moment& moment) {
  if (std::exchange(flight_.asked_for_due, false)) return add_due(std::move(event.round), moment);
  if (window_) return add_rows(std::move(event.round), moment);
  held_until_.reset();
  if (event.round.held_for) held_until_ = moment.now + *event.round.held_for;
  if (going(moment)) return depart(moment);
  round_ = std::move(event.round);
  if (round_.records.empty() && round_.queued.empty()) return nothing_to_do(moment);
  idle_interval_ = milliseconds{0};
  if (round_.records.empty()) {  // nothing is handed over, so no attempt is counted
    enter(LaneState::running);
    return settle(0, 0, moment);
  }
  if (config_.max_crashes > 0 && cursor_.crashes >= config_.max_crashes) {
    return halt(HaltReason::crashes, round_.records.front().id(), crashes_text(cursor_.crashes));
  }
  enter(LaneState::running);
  const bool announced = round_.announced || mutant(Mutant::start_passed_over);
  if (!announced || !uncalled()) return start(moment);
  number_records(round_, next_, next_queued_, {config_.name, lane_}, cursor_);
  return call(moment);
}

Action Lane::start(const Moment& moment) {
  if (!take_tokens(next_, moment)) return wait_for_token(moment);
  if (std::exchange(waits_for_token_, false)) enter(LaneState::running);
  const bool again = uncalled();
  if (!again) cursor_.attempts += 1;
  uncalled_ = cursor_.sequence + 1;
  announced_at_ = moment.now;
  return StartBatch{cursor_.epoch, rows_announced(next_, next_queued_), again,
                    poll_after(next_ + rows_to_call(next_))};
}

Action Lane::nothing_to_do(const Moment& moment) {
  if (const auto& bad = round_.unreadable) return halt(bad->reason, bad->row_id, bad->detail);
  if (options_.drain && !round_.fenced && !held_until_) return leave();
  enter(round_.fenced ? LaneState::fenced : LaneState::idle);
  if (round_.fenced) {
    if (!fenced_since_) fenced_since_ = moment.now;
    fenced_for_ = std::chrono::duration_cast<milliseconds>(moment.now - *fenced_since_);
  }
  idle_interval_ = std::clamp(idle_interval_ * 2, config_.poll_interval_min, idle_interval_max());
  wake_at_ = moment.now + idle_interval_;
  if (held_until_ && *held_until_ > moment.now) wake_at_ = std::min(wake_at_, *held_until_);
  return rest(moment);
}

milliseconds Lane::idle_interval_max() const {
  const auto& most = config_.poll_interval_max;
  if (round_.fenced) {
    return std::clamp(fenced_for_ / fenced_share, config_.poll_interval_min, most);
  }
  return options_.hints ? std::max(hinted_interval, most) : most;
}

Action Lane::handle(Started& event, const Moment& moment) {
  if (event.grant != Grant::ours) {
    uncalled_.reset();  // as the cursor's row says, once it is read
    give_back_tokens();
  }
  if (event.grant == Grant::lost) return refused(moment);
  if (going(moment)) return depart(moment);
  if (event.grant == Grant::held) return wait_for_turn(moment);
  cursor_.state = Cursor::State::running;
  if (mutant(Mutant::announced_late)) announced_at_ = moment.now;
  number_records(round_, next_, next_queued_, {config_.name, lane_}, cursor_);
  return call(moment);
}

// --- one call, one commit -----------------------------------------------------------------------

Action Lane::call(const Moment& moment) {
  ensure(!failure_, "nothing overtakes a failure");
  calling_ = rows_to_call(next_);
  const auto before = round_.due_rows.empty() ? 0 : round_.due_rows[next_].attempts;
  round_.records[next_].attempt = before + std::max(cursor_.attempts, 1U);
  const auto not_after = announced_at_ + call_begin_max;
  return CallHandler{std::span(round_.records).subspan(next_, calling_), not_after,
                     moment.now + config_.handler_deadline,
                     std::min(moment.now + config_.max_hold, not_after),
                     poll_after(next_ + calling_)};
}

std::size_t Lane::rows_to_call(std::size_t first) const {
  const auto rows = std::min<std::size_t>(config_.commit_every, round_.records.size() - first);
  if (solo_rows_ > 0) return 1;
  return pace_.limits() ? std::min(rows, tokens_.size()) : rows;
}

/// The numbers that a receiver may see: those of rows that queue, from that one on, lie among them.
std::size_t Lane::rows_announced(std::size_t first, std::size_t first_queued) const {
  return rows_to_call(first) + round_.queued.size() - first_queued;
}

/// Known if the call is the last one of a full batch: more rows are waiting then.
std::optional<PollSource> Lane::poll_after(std::size_t end) const {
  const auto& [records, queued] = std::tie(round_.records, round_.queued);
  const bool last = end == records.size();
  const bool full = records.size() + queued.size() >= config_.batch_rows;
  if (!config_.read_ahead || !last || !full || solo_rows_ > 0) return std::nullopt;
  const bool queued_last = !queued.empty() && queued.back().before == records.size();
  const bool late = queued_last ? queued.back().late : records.back().late;
  if (late) return std::nullopt;
  return PollSource{queued_last ? queued.back().position : records.back().position,
                    config_.batch_rows, true};
}

Action Lane::handle(CallExpired&, const Moment& moment) {
  if (going(moment)) return depart(moment);
  enter(LaneState::running, not_begun_text());
  give_back_tokens();
  return start(moment);
}

std::string Lane::not_begun_text() {
  return "no call was begun: it took longer than " + std::to_string(call_begin_max.count()) +
         " ms to announce it; the database answers too slowly, or this program was frozen";
}

Action Lane::handle(Called& event, const Moment& moment) {
  auto& [done, next] = event.outcome;
  uncalled_.reset();
  const bool breached = !event.breach.empty();
  ensure(breached || (done <= calling_ && (done < calling_ || !next)),
         "the driver checked the handler's answer");
  if (!moment.wanted && mutant(Mutant::given_up_mid_batch)) return give_way(moment);
  if (done == 0 && !next && !breached && !moment.stopping) {
    next = Outcome::retry_later("the handler did nothing");
  }
  const auto seen = event.threw ? calling_ : done + (next ? 1 : 0);
  give_back_tokens(breached ? calling_ : seen);
  seen_to_ = std::max(seen_to_, cursor_.sequence + queued_before(next_) - next_queued_ + seen);
  calling_ = done;
  if (done > 0) failed_in_turn_ = 0;
  if (breached) {
    failure_ = Halt{HaltReason::unknown_outcome, {round_.records[next_].id(), event.breach}};
  } else if (next) {
    const auto failed = next_ + done;
    const auto& due = round_.due_rows;
    failure_ = fate_of({round_.records[failed], *next, done > 0 ? 1 : cursor_.attempts,
                        due.empty() ? nullptr : &due[failed]},
                       moment);
  }
  const bool nothing = done == 0 && !failure_ && queued_before(next_) == next_queued_;
  return nothing ? go_on(moment) : settle(done, event.rows_ahead, moment);
}

Action Lane::handle(Settled& event, const Moment& moment) {
  if (flight_.settled) return committed(event, moment);
  if (event.grant != Grant::ours) give_back_tokens();
  if (event.grant == Grant::lost) return refused(moment);
  count_aside(event);
  if (mutant(Mutant::announced_late)) announced_at_ = moment.now;
  move_over_settled();
  const auto failure = std::exchange(failure_, std::nullopt);
  const auto* park = failure ? std::get_if<Park>(&*failure) : nullptr;
  if (failure && !park) {
    suffer(*failure);
    return follow_cursor(moment);
  }
  if (park) {  // the rest of the batch is read again: rows of that key queue now
    next_ = round_.records.size();
    cursor_.attempts = 0;
    cursor_.detail.clear();
    cursor_.row_id.reset();
  }
  if (event.grant == Grant::ours) return go_on(moment);
  cursor_.attempts = 0;
  uncalled_.reset();
  return going(moment) ? depart(moment) : wait_for_turn(moment);
}

void Lane::count_aside(const Settled& event) {
  const auto changed = [](unsigned count, int by) {
    return static_cast<unsigned>(std::max(0, static_cast<int>(count) + by));
  };
  cursor_.parked = changed(cursor_.parked, event.parked);
  cursor_.held_keys = changed(cursor_.held_keys, event.held_keys);
}

/// The rows that are done, those that queue up to the next one, and one that is set aside.
void Lane::move_over_settled() {
  const auto move_over = [this](const Position& position, bool late) {
    if (!late) cursor_.position = position;
    cursor_.sequence += 1;
    cursor_.crashes = 0;
    cursor_.state = Cursor::State::running;
    solo_rows_ -= std::min(solo_rows_, 1U);
  };
  const auto queue_up_to = [&](std::size_t record) {
    for (const auto end = queued_before(record); next_queued_ < end; ++next_queued_) {
      const auto& row = round_.queued[next_queued_];
      move_over(row.position, row.late);
      cursor_.set_aside += 1;
    }
  };
  for (const auto end = next_ + calling_; next_ < end; ++next_) {
    queue_up_to(next_);
    move_over(round_.records[next_].position, round_.records[next_].late);
  }
  queue_up_to(next_);
  if (const auto* park = failure_ ? std::get_if<Park>(&*failure_) : nullptr) {
    move_over(park->row, park->late);
    cursor_.set_aside += 1 + unused_;
    cursor_.sequence += unused_;
  }
}

/// After what was done is committed: the next row, or the next round; before that the lease, which
/// a batch of slow rows must not outlast.
Action Lane::go_on(const Moment& moment) {
  if (going(moment)) return depart(moment);
  if (uncalled()) return more_rows() ? call(moment) : poll(moment);
  if (renewal_due(moment)) return ClaimLane{};
  return pace_.limits() && more_rows() ? start(moment) : poll(moment);
}

Fate Lane::fate_of(const Failed& failed, const Moment& moment) {
  const auto& [record, outcome, attempts, due] = failed;
  if (outcome.kind == Outcome::Kind::poison) return poison(failed, outcome.reason);
  if (halts_unknown(outcome)) {
    return Halt{HaltReason::unknown_outcome, {record.id(), outcome.reason}};
  }
  const auto all = attempts + (due ? due->attempts : 0);
  if (gives_up(all)) {
    return poison(failed, "given up after " + std::to_string(all) + " attempts: " + outcome.reason);
  }
  const auto delay = backoff(config_.backoff, all, moment.random, outcome.retry_after);
  if (config_.on_retry == OnRetry::hold_key) return hold_or_wait(failed, delay, moment);
  return Retry{{record.id(), outcome.reason}, delay};
}

/// Its key alone waits. The lane does if the receiver seems to be broken for all, or if too many
/// keys wait already.
Fate Lane::hold_or_wait(const Failed& failed, milliseconds delay, const Moment& moment) {
  const auto& [record, outcome, attempts, due] = failed;
  const bool newly = !(due && due->redriven) && failed_id_ != record.id();
  failed_id_ = record.id();
  if (newly) failed_in_turn_ += 1;
  if (newly && failed_in_turn_ > held_at_once) {
    const auto wait = backoff(config_.backoff, failed_in_turn_ - held_at_once, moment.random,
                              outcome.retry_after);
    return Retry{{record.id(), outcome.reason + "; " + std::to_string(failed_in_turn_) +
                                   " rows failed one after another, so no further key is held"},
                 wait};
  }
  // Rows that are due need the next number, so the lane must not wait here without end.
  if (newly && cursor_.held_keys >= config_.max_held_keys) {
    const auto wait = backoff(config_.backoff, longest_backoff, moment.random, outcome.retry_after);
    return Retry{
        {record.id(), outcome.reason + "; its key is not held yet: " +
                          std::to_string(cursor_.held_keys) + " are already (max_held_keys)"},
        wait};
  }
  return Park{record.position, record.key, record.late, true, attempts, outcome.reason, delay};
}

/// At the row where the lane is, with no row done.
Action Lane::halt(HaltReason reason, std::string row_id, std::string detail) {
  calling_ = 0;
  next_queued_ = queued_before(next_);
  failure_ = Halt{reason, {std::move(row_id), std::move(detail)}};
  suffer(*failure_);
  Settlement settlement;
  settlement.from = cursor_.position;
  settlement.fate = *failure_;
  return Settle{cursor_.epoch, std::move(settlement)};
}

std::string Lane::crashes_text(unsigned crashes) {
  return "this row kills the process: " + std::to_string(crashes) +
         " processes ended while it was being handled";
}

/// What the cursor says of it.
void Lane::suffer(const Fate& fate) {
  const auto note = [this](Cursor::State state, const Failure& failure) {
    cursor_.state = state;
    cursor_.row_id = failure.row_id.empty() ? std::nullopt : std::optional(failure.row_id);
    cursor_.detail = failure.detail;
  };
  if (const auto* halt = std::get_if<Halt>(&fate)) {
    note(Cursor::State::halted, halt->failure);
    cursor_.reason = halt->reason;
  }
  if (const auto* retry = std::get_if<Retry>(&fate)) {
    note(Cursor::State::retrying, retry->failure);
    cursor_.retry_in = retry->delay;
  }
}

// --- small parts --------------------------------------------------------------------------------

void Lane::enter(LaneState state, std::string detail) {
  state_ = state;
  detail_ = std::move(detail);
  if (state == LaneState::fenced) return;
  fenced_for_ = milliseconds{0};
  fenced_since_.reset();
}

/// An attempt counted and not made is still ours to make if nobody acted since: every change of
/// holder and every move of the cursor shows. A session opened anew has an epoch of its own.
void Lane::read_cursor(const Cursor& cursor, bool rejoined) {
  const auto same_epoch = cursor_.epoch + (rejoined ? 1 : 0);
  const bool untouched = cursor.epoch == same_epoch && cursor.attempts == cursor_.attempts &&
                         uncalled_ == cursor.sequence + 1;
  if (!untouched) uncalled_.reset();
  if (cursor.epoch != cursor_.epoch) seen_to_ = cursor.handed_to;
  cursor_ = cursor;
}

}  // namespace seriatim::core

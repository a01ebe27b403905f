// Of the lane (lane.hpp): waiting, losing what it has, leaving; rate limits.
#include <algorithm>
#include <utility>

#include "core/backoff.hpp"
#include "core/lane.hpp"
#include "core/mutant.hpp"

namespace seriatim::core {

using std::chrono::milliseconds;

namespace {

// Waiting for a database that is away: soon at first, never longer than this.
constexpr BackoffConfig session_backoff{milliseconds{50}, milliseconds{5'000}, milliseconds{0}};

}  // namespace

/// The lane is to be left, for good or to other instances.
bool Lane::going(const Moment& moment) {
  return moment.stopping || (!moment.wanted && !mutant(Mutant::never_given_up));
}

Action Lane::rest(const Moment& moment) {
  const auto renewal = claimed_at_ + config_.lease / 3;
  const auto until = has_ == Has::lane ? std::min(wake_at_, renewal) : wake_at_;
  return WaitUntil{std::max(until, moment.now)};
}

bool Lane::renewal_due(const Moment& moment) const {
  return moment.now >= claimed_at_ + config_.lease / 3;
}

Action Lane::handle(Woken& event, const Moment& moment) {
  if (going(moment)) return depart(moment);
  if (has_ == Has::nothing) return moment.now >= wake_at_ ? Action(OpenSession{}) : rest(moment);
  if (has_ != Has::lane || renewal_due(moment)) {
    if (event.early) wake_at_ = moment.now;  // a renewal alone asks for no poll
    return ClaimLane{};
  }
  if (state_ == LaneState::idle || state_ == LaneState::fenced) return poll(moment);
  const bool has_token = waits_for_token_ && moment.now >= wake_at_;
  return has_token ? start(moment) : Action(ReadCursor{});
}

/// The row said no: another holder, an operator, or a lock held by one. Check again soon; or let
/// go, which does nothing if the lane is another's.
Action Lane::refused(const Moment& moment) {
  failure_.reset();
  drop_window();
  enter(LaneState::claiming);
  if (going(moment)) return depart(moment);
  has_ = std::min(has_, Has::session);
  wake_at_ = moment.now + refused_pause;
  return rest(moment);
}

/// A person acts on the lane, and says so when that is done.
Action Lane::wait_for_turn(const Moment& moment) {
  enter(LaneState::running, "a person's act on this lane comes first");
  wake_at_ = moment.now + config_.standby_interval;
  return rest(moment);
}

Action Lane::handle(SessionEnded& event, const Moment& moment) {
  has_ = Has::nothing;
  failure_.reset();
  drop_window();
  enter(LaneState::claiming, event.detail);
  if (going(moment)) return depart(moment);
  session_failures_ += 1;
  wake_at_ = moment.now + backoff(session_backoff, session_failures_, moment.random);
  return rest(moment);
}

Action Lane::handle(SourceFailed& event, const Moment& moment) {
  const bool halting = cursor_.state == Cursor::State::halted;
  stale_ = true;
  uncalled_.reset();
  failure_.reset();
  const bool may_commit = window_ && !flight_.settled && !flight_.broken && has_ == Has::lane;
  if (may_commit) {  // what is in flight counts
    flight_.broken = Halt{event.reason, {{}, event.detail}};
    return advance(moment);
  }
  drop_window();
  if (has_ == Has::lane && !halting) return halt(event.reason, {}, event.detail);
  // Not ours to write down (or writing it down failed): wait here and try again slowly.
  has_ = std::min(has_, Has::session);
  cursor_.reason = event.reason;
  enter(LaneState::halted, event.detail);
  if (going(moment) || options_.drain) return depart(moment);
  wake_at_ = moment.now + operator_interval;
  return rest(moment);
}

/// For good where a stop was asked, else until the lane is wanted again.
Action Lane::depart(const Moment& moment) {
  return moment.stopping || options_.drain ? leave() : give_way(moment);
}

Action Lane::leave() {
  if (std::exchange(has_, std::min(has_, Has::session)) != Has::lane) {
    if (state_ != LaneState::halted && state_ != LaneState::paused) {
      enter(LaneState::stopped, detail_);
    }
    return Finish{};
  }
  return ReleaseLane{cursor_.epoch, uncalled()};
}

/// Between calls only, with what they did committed; other instances may have the lane at once. It
/// costs neither connection nor statement until it is wanted again.
Action Lane::give_way(const Moment& moment) {
  const auto had = std::exchange(has_, has_ == Has::lane ? Has::session : Has::nothing);
  if (had == Has::lane) return ReleaseLane{cursor_.epoch, uncalled()};
  if (had == Has::session) return CloseSession{};
  enter(LaneState::standby, "left to other instances, which share the lanes");
  wake_at_ = moment.now;  // at once, if it is wanted again
  return WaitUntil{moment.now + config_.lease};
}

Action Lane::handle(Released&, const Moment& moment) {
  return depart(moment);
}

Action Lane::handle(Closed&, const Moment& moment) {
  return going(moment) ? depart(moment) : OpenSession{};
}

// --- rate limits, with one call at a time -------------------------------------------------------

/// For the rows from that one on that may be called now by the rate limits.
bool Lane::take_tokens(std::size_t first, const Moment& moment) {
  if (!pace_.limits()) return true;
  give_back_tokens();
  const auto rows = round_.records.size() - first;
  const auto most = std::min<std::size_t>(solo_rows_ > 0 ? 1 : config_.commit_every, rows);
  while (tokens_.size() < most) {
    const auto& key = key_of(first + tokens_.size());
    if (!pace_.is_free(key, moment.now)) break;
    pace_.take(key, moment.now);
    tokens_.push_back(key);
  }
  return !tokens_.empty();
}

/// Of rows that were not called.
void Lane::give_back_tokens(std::size_t used) {
  for (auto i = used; i < tokens_.size(); ++i) pace_.give_back(tokens_[i]);
  tokens_.clear();
}

/// That of a parked row may have changed since; it goes by the one under which it is aside.
const std::optional<std::string>& Lane::key_of(std::size_t row) const {
  return round_.redriven() ? round_.due_rows[row].key : round_.records[row].key;
}

Action Lane::wait_for_token(const Moment& moment) {
  enter(LaneState::running, "the next row waits for its rate limit");
  waits_for_token_ = true;
  wake_at_ = std::max(pace_.free_at(), pace_.key_free_at(key_of(next_)));
  return rest(moment);
}

}  // namespace seriatim::core

// Where a lane's cursor goes after a call; and, while that is still to be made, where it will.
#include <algorithm>
#include <utility>

#include "core/lane.hpp"
#include "core/mutant.hpp"

namespace seriatim::core {

Action Lane::settle(std::size_t done, const Moment& moment) {
  calling_ = done;
  const Span span{next_, next_ + done};
  const auto next = onward(span, next_read_, moment);
  const bool sent = std::exchange(sent_, false);
  const bool whole = sent && (done == foreseen_->done.size() || mutant(Mutant::foreseen_blindly));
  const bool as_foreseen =  // … with a lease that is as long as ever
      whole && !renewal_due(moment) && foreseen_->next_started() == next.go_on &&
      foreseen_->starts_next == next.starts;
  Settle action{cursor_.epoch,
                as_foreseen ? std::move(*foreseen_) : move_over(span, cursor_.position, next)};
  auto& move = action.settlement;
  if (next.go_on) uncalled_ = cursor_.sequence + done + move.queued.size() + 1;
  lock_asked_ = next.go_on && moment.now < locked_alone_at_ + lock_ahead_max;
  if (lock_asked_) lock_asked_at_ = moment.now;
  move.goes_on = lock_asked_;
  move.polls_next = next.polls;
  move.sent = as_foreseen;
  next_sent_ = lock_asked_ && done > 0 && foresee_unread(span.end, move.done.back(), moment);
  if (next_sent_) move.next = &*foreseen_;
  if (!move.failed()) {
    cursor_.attempts = move.next_started() ? 1 : 0;
  } else if (done > 0) {
    cursor_.attempts = 1;
  }
  return action;
}

Lane::Onward Lane::onward(const Span& call, bool next_read, const Moment& moment) const {
  const bool last = call.end == round_.records.size();
  const bool starts = last && call.end > call.begin && next_read && !round_.redriven;
  const bool stays = !failure_ && !going(moment) && !renewal_due(moment);
  return {.go_on = stays && (!last || starts),
          .starts = stays && starts,
          .polls = stays && last && !starts && !round_.redriven};
}

/// Over the records that are done, and the rows that queue up to the next one.
Settlement Lane::move_over(const Span& done, const std::optional<Position>& from,
                           const Onward& next) const {
  Settlement move{.from = from,
                  .done = {},
                  .queued = {},
                  .fate = next.go_on ? Fate(Next{}) : Rest{},
                  .starts_next = next.starts};
  if (failure_) move.fate = *failure_;
  move.done.reserve(done.end - done.begin);
  for (auto i = done.begin; i < done.end; ++i) move.done.push_back(round_.records[i].position);
  for (auto i = next_queued_; i < queued_before(done.end); ++i) {
    auto row = round_.queued[i];
    row.before -= done.begin;
    move.queued.push_back(std::move(row));
  }
  return move;
}

/// The move after a call that is done whole, and the next round there where it is asked for.
std::optional<Settlement> Lane::foresee(std::size_t first, const std::optional<Position>& from,
                                        const Moment& moment) const {
  const bool plain = round_.queued.empty() && !round_.redriven && solo_rows_ == 0;
  if (!plain || first == round_.records.size() || renewal_due(moment)) return std::nullopt;
  const Span call{first, first + rows_to_call(first)};
  return move_over(call, from, onward(call, poll_after(call.end).has_value(), moment));
}

/// Of the call after this one, where it does not hang on what is read meanwhile.
bool Lane::foresee_unread(std::size_t first, const Position& from, const Moment& moment) {
  const bool asks = first == round_.records.size() || poll_after(first + rows_to_call(first));
  foreseen_ = asks ? std::nullopt : foresee(first, from, moment);
  return foreseen_.has_value();
}

/// A message of its own pays where it carries many rows (of one: 11 of 150 µs more for the server).
/// A retry may fail again, and all be taken back.
bool Lane::worth_sending() const {
  return cursor_.attempts <= 1 && (calling_ > 1 || next_sent_);
}

/// How many of the rows that queue stand before this record.
std::size_t Lane::queued_before(std::size_t record) const {
  const auto& queued = round_.queued;
  const auto end = std::find_if(queued.begin(), queued.end(),
                                [&](const QueuedRow& row) { return row.before > record; });
  return static_cast<std::size_t>(end - queued.begin());
}

}  // namespace seriatim::core

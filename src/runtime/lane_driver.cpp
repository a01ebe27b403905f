#include "runtime/lane_driver.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/crash_point.hpp"
#include "core/mutant.hpp"
#include "runtime/broken_answer.hpp"

namespace seriatim::runtime {

using std::chrono::milliseconds;

namespace {

/// During a call: a system call, where a handler may take a microsecond a row.
constexpr milliseconds loss_asked_every{1};

/// A step at the source ends within this: a session limits its statements to 10 minutes
/// (postgres/source.cpp), and gives a silent connection up sooner.
constexpr std::chrono::minutes source_step_max{11};

/// Grows at 1 s, 10 s, 100 s, …: a wait is reported again when it has become another kind of wait.
std::size_t grade(milliseconds age) {
  std::size_t grade = 0;
  for (auto seconds = age / std::chrono::seconds(1); seconds > 0; seconds /= 10) grade += 1;
  return grade;
}

/// The age of a transaction is hidden from a role without pg_read_all_stats; how long we wait is
/// not.
std::size_t wait_grade(const LaneStatus& lane) {
  const auto age = lane.blockers.empty() ? milliseconds{0} : lane.blockers.front().age;
  return grade(std::max(age, lane.fenced_for));
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

/// The source has answered, or, after a call, could not be asked meanwhile.
bool is_from_source(const core::Event& event) {
  return std::holds_alternative<core::Claimed>(event) ||
         std::holds_alternative<core::SourceFailed>(event) ||
         std::holds_alternative<core::Called>(event) ||
         std::holds_alternative<core::Answered>(event) ||
         std::holds_alternative<core::CursorRead>(event) ||
         std::holds_alternative<core::Polled>(event) ||
         std::holds_alternative<core::Started>(event) ||
         std::holds_alternative<core::Settled>(event);
}

bool same_wait(const LaneStatus& a, const LaneStatus& b) {
  if (wait_grade(a) != wait_grade(b)) return false;
  if (a.blockers.empty() || b.blockers.empty()) return a.blockers.empty() && b.blockers.empty();
  return a.blockers.front().pid == b.blockers.front().pid &&
         a.blockers.front().gid == b.blockers.front().gid;
}

/// What observers are notified of: a change of anything but the counters that move with every row.
bool same_to_a_person(const LaneStatus& a, const LaneStatus& b) {
  return a.state == b.state && a.reason == b.reason && a.detail == b.detail &&
         a.row_id == b.row_id && a.epoch == b.epoch && same_wait(a, b) &&
         (a.state != LaneState::retrying || a.attempts == b.attempts);
}

/// One row after another, on the lane's thread.
class HandlerCalls final : public Calls {
 public:
  HandlerCalls(Handler& handler, TimeAndChance& outside, CallNeeds needs,
               std::function<bool()> is_lost)
      : handler_(handler),
        outside_(outside),
        needs_(std::move(needs)),
        is_lost_(std::move(is_lost)) {}

  void begin_until(Time not_after) override { not_after_ = not_after; }
  void begin(std::shared_ptr<const Record> row) override {
    const auto began = outside_.now();
    if (began > not_after_ || is_lost_()) {
      answers_.push_back({row->sequence, std::nullopt, {}});
      return;
    }
    const auto deadline = began + needs_.handler_deadline;
    auto outcome = call_one(handler_, *row, {deadline, deadline, needs_.stop});
    answers_.push_back({row->sequence, std::move(outcome), outside_.now() - began});
  }
  void revoke() override {}
  std::vector<core::Answer> take() override { return std::exchange(answers_, {}); }
  Time earliest_deadline() override { return Time::max(); }

 private:
  Handler& handler_;
  TimeAndChance& outside_;
  CallNeeds needs_;
  std::function<bool()> is_lost_;
  Time not_after_;
  std::vector<core::Answer> answers_;
};

}  // namespace

LaneDriver::LaneDriver(Parts parts)
    : parts_(std::move(parts)),
      lane_(parts_.config, parts_.lane, {.drain = parts_.drain_audit != nullptr, .hints = false}),
      reported_(lane_.status()) {
  if (!parts_.outside) parts_.outside = real_time_and_chance();
}

LaneStatus LaneDriver::run(const std::stop_token& stop) {
  stop_ = stop;
  core::Event event = core::Begin{};
  for (;;) {
    auto& outside = *parts_.outside;
    const core::Moment moment{outside.now(), outside.chance(), stop.stop_requested(), wanted_};
    if (is_from_source(event)) counters_.answered(moment.now);
    const core::Action action = lane_.on(std::move(event), moment);
    notify_changes();
    begin_step(action, moment.now);
    if (std::holds_alternative<core::Finish>(action)) {
      wanted_ = false;
      finished_ = true;
      return lane_.status();
    }
    event = perform(action);
  }
}

LaneCounts LaneDriver::counts() const {
  auto counts = counters_.read();
  counts.process = parts_.config.name;
  counts.lane = parts_.lane;
  // A holder renews its lease after a third of it; others ask again after standby_interval.
  counts.silence_max = parts_.config.lease + parts_.config.standby_interval;
  counts.finished = finished_;
  return counts;
}

void LaneDriver::begin_step(const core::Action& action, core::Time now) {
  // An audit that precedes the end of a drain takes as long as it takes.
  const auto at_source = parts_.drain_audit ? core::Time::max() : now + source_step_max;
  const auto wait = [&] {
    if (lane_.state() == LaneState::fenced) return LaneStep::fence;
    return lane_.state() == LaneState::retrying ? LaneStep::backoff : LaneStep::idle;
  };
  struct Step {
    LaneStep step;
    core::Time ends;
  };
  const auto step = std::visit(Overloaded{[&](const core::PollSource&) {
                                            return Step{LaneStep::fetch, at_source};
                                          },
                                          [&](const core::PollForWindow&) {
                                            return Step{LaneStep::fetch, at_source};
                                          },
                                          [&](const core::StartBatch&) {
                                            return Step{LaneStep::commit, at_source};
                                          },
                                          [&](const core::Settle&) {
                                            return Step{LaneStep::commit, at_source};
                                          },
                                          [&](const core::CallHandler& call) {
                                            return Step{LaneStep::call, call.deadline};
                                          },
                                          [&](const core::CallRows& calls) {
                                            return Step{LaneStep::call, calls.until};
                                          },
                                          [&](const core::WaitUntil& until) {
                                            return Step{wait(), until.deadline};
                                          },
                                          [&](const core::Finish&) {
                                            return Step{LaneStep::idle, core::Time::max()};
                                          },
                                          [&](const auto&) {
                                            return Step{LaneStep::session, at_source};
                                          }},
                               action);
  const auto calls_end = calls_ ? calls_->earliest_deadline() : core::Time::max();
  counters_.begin_step(step.step, now, std::min(step.ends, calls_end));
}

core::Event LaneDriver::perform(const core::Action& action) {
  try {
    core::crash_point("before", core::action_names[action.index()]);
    auto event = std::visit([&](const auto& a) { return carry_out(a); }, action);
    core::crash_point("after", core::action_names[action.index()]);
    return event;
  } catch (const SourceBroken& broken) {
    return core::SourceFailed{broken.reason(), broken.what()};
  } catch (const std::exception& lost) {  // SessionLost, or something as unclear: start afresh
    if (session_) counters_.lost_session();
    if (calls_) calls_->revoke();  // another may have the lane
    drop_session();
    return core::SessionEnded{lost.what()};
  }
}

void LaneDriver::drop_session() {
  session_.reset();
  has_session_ = false;
  counters_.hold(false);
}

core::Event LaneDriver::carry_out(const core::OpenSession&) {
  drop_session();
  const LaneId lane{parts_.config.name, parts_.lane, parts_.config.lanes};
  session_ =
      std::make_unique<LaneSession>(*parts_.source, lane, parts_.config, parts_.holder, waker_);
  has_session_ = true;
  lane_.set_hints(session_->hints());
  return core::Opened{};
}

core::Event LaneDriver::carry_out(const core::ClaimLane&) {
  auto claim = session_->claim();
  if (claim.source_clock_us) counters_.see_clock(*claim.source_clock_us, parts_.outside->now());
  if (claim.granted && claim.new_epoch) counters_.took_over();
  counters_.hold(claim.granted);
  const bool anew = claim.granted && parts_.drain_audit && checked_behind_at_ != claim.cursor.epoch;
  if (!anew) return core::Claimed{std::move(claim)};
  const auto cursor = check_behind();
  if (cursor && cursor->epoch != claim.cursor.epoch) throw SessionLost("the lane was taken over");
  if (cursor) {
    checked_behind_at_ = cursor->epoch;
    claim.cursor = *cursor;
  }
  return core::Claimed{std::move(claim)};
}

/// The lane's cursor after an audit of all that is behind it; nothing if a stop was asked
/// meanwhile, and then nothing is delivered either.
std::optional<Cursor> LaneDriver::check_behind() {
  if (!parts_.drain_audit->check_all(parts_.lane, stop_)) return std::nullopt;
  return session_->read_cursor();
}

core::Event LaneDriver::carry_out(const core::ReadCursor&) {
  return core::CursorRead{session_->read_cursor()};
}

core::Event LaneDriver::carry_out(const core::PollSource& action) {
  return polled(session_->poll(action.after, action.rows_max, action.may_redrive), true);
}

core::Event LaneDriver::carry_out(const core::PollForWindow& action) {
  if (action.due)
    return core::Polled{session_->poll_due(action.after, action.rows_max, *action.due)};
  return polled(session_->poll_new(action.after, action.rows_max, action.cursor), action.all_done);
}

/// `all_done`: nothing that was read before is in flight, or waits to go out again.
core::Event LaneDriver::polled(PollResult round, bool all_done) {
  const bool drained = parts_.drain_audit && all_done && round.empty() && round.queued.empty() &&
                       !round.fenced && !round.held_for;
  if (drained) {  // but for rows that came behind the cursor meanwhile
    const auto cursor = check_behind();
    const bool waits = cursor && (cursor->state == Cursor::State::halted ||
                                  cursor->state == Cursor::State::paused);
    if (waits || (cursor && cursor->epoch != checked_behind_at_)) return core::CursorRead{*cursor};
  }
  return core::Polled{std::move(round)};
}

core::Event LaneDriver::carry_out(const core::StartBatch& action) {
  read_ahead(action.then);
  return core::Started{session_->start(action.epoch, action.rows, action.again)};
}

core::Event LaneDriver::carry_out(const core::CallHandler& action) {
  read_ahead(action.then);
  const auto began = parts_.outside->now();
  const bool expired = began > action.not_after && !core::mutant(core::Mutant::late_call);
  if (expired) return core::CallExpired{};
  if (session_->is_lost()) throw SessionLost("the connection ended before the call began");
  auto called = call(action);
  const auto kind = called.outcome.next ? called.outcome.next->kind : Outcome::Kind::done;
  const auto took = parts_.outside->now() - began;
  counters_.called(kind, took);
  notify([&](Observer& o) { o.called(lane_.status(), kind, took); });
  called.rows_ahead = action.then ? session_->rows_ahead(*action.then->after) : 0;
  return called;
}

void LaneDriver::read_ahead(const std::optional<core::PollSource>& then) {
  if (then) session_->read_ahead(*then->after, then->rows_max);
}

/// A handler that throws has failed at a row we cannot know, so none of the batch counts as done.
core::Called LaneDriver::call(const core::CallHandler& action) {
  const CallContext context{action.deadline, action.yield_at, stop_, session_->transaction(),
                            [this, asked = core::Time{}]() mutable {
                              const auto now = parts_.outside->now();
                              if (now < asked + loss_asked_every) return false;
                              asked = now;
                              return session_->is_lost();
                            }};
  try {
    return {call_checked(*parts_.handler, action.records, context)};
  } catch (const SessionLost&) {  // with the transaction it was lent
    throw;
  } catch (const BrokenAnswer& broken) {
    return {.outcome = {0, Outcome::unknown(broken.what())}, .breach = broken.what()};
  } catch (const std::exception& thrown) {
    return {
        .outcome = {0, Outcome::retry_later(std::string("the handler threw: ") + thrown.what())},
        .threw = true};
  } catch (...) {
    return {.outcome = {0, Outcome::retry_later(
                               "the handler threw something that is no std::exception")},
            .threw = true};
  }
}

Calls& LaneDriver::calls() {
  if (calls_) return *calls_;
  CallNeeds needs{parts_.config.handler_deadline, stop_, [this] { waker_.wake(); }};
  if (parts_.calls && parts_.config.in_flight > 1) {
    calls_ = parts_.calls(std::move(needs));
  } else {
    calls_ = std::make_unique<HandlerCalls>(*parts_.handler, *parts_.outside, std::move(needs),
                                            [this] { return !session_ || session_->is_lost(); });
  }
  return *calls_;
}

core::Event LaneDriver::carry_out(const core::CallRows& action) {
  auto& calls = this->calls();
  calls.begin_until(action.not_after);
  if (action.revoke) calls.revoke();
  const bool lost = !action.rows.empty() && session_->is_lost();
  for (const auto& row : action.rows) {
    if (lost) unbegun_.push_back({row->sequence, std::nullopt, {}});
    if (!lost) calls.begin(row);
  }
  if (lost) throw SessionLost("the connection ended before the calls began");
  auto answers = take_answers();
  if (!answers.empty() || parts_.outside->now() >= action.until) {
    return core::Answered{std::move(answers), false};
  }
  const bool early = session_ ? session_->wait_until(action.until)
                              : parts_.outside->sleep_until(action.until, waker_);
  waker_.clear();
  return core::Answered{take_answers(), early};
}

std::vector<core::Answer> LaneDriver::take_answers() {
  auto answers = calls().take();
  for (const auto& answer : answers) {
    if (!answer.outcome) continue;
    counters_.called(answer.outcome->kind, answer.took);
    notify([&](Observer& o) { o.called(lane_.status(), answer.outcome->kind, answer.took); });
  }
  answers.insert(answers.end(), unbegun_.begin(), unbegun_.end());
  unbegun_.clear();
  return answers;
}

core::Event LaneDriver::carry_out(const core::Settle& action) {
  const auto& settlement = action.settlement;
  const auto sent = parts_.outside->now();
  const auto settled = session_->settle(action.epoch, settlement);
  const bool ours = settled.grant != Grant::lost;
  const auto rows =
      settlement.done.size() + settlement.done_aside.size() + settlement.done_late.size();
  if (ours && rows > 0) notify([&](Observer& o) { o.delivered(lane_.status(), rows); });
  auto failed = settlement.parks;
  if (const auto* park = std::get_if<Park>(&settlement.fate)) failed.push_back(*park);
  if (ours) {
    counters_.settled(settlement, sent, parts_.outside->now());
    for (const auto& park : failed) {
      notify([&](Observer& o) {
        if (!park.retry_in) return o.parked(lane_.status(), park.row.id, park.detail);
        o.held(lane_.status(), park.row.id, park.detail, *park.retry_in);
      });
    }
  }
  return core::Settled{settled.grant, settled.parked, settled.held_keys, settled.makes_due};
}

core::Event LaneDriver::carry_out(const core::ReleaseLane& action) {
  session_->release(action.epoch, action.untouched);
  counters_.hold(false);
  return core::Released{};
}

core::Event LaneDriver::carry_out(const core::CloseSession&) {
  drop_session();
  return core::Closed{};
}

core::Event LaneDriver::carry_out(const core::WaitUntil& action) {
  const bool early = session_ ? session_->wait_until(action.deadline)
                              : parts_.outside->sleep_until(action.deadline, waker_);
  waker_.clear();
  return core::Woken{early};
}

core::Event LaneDriver::carry_out(const core::Finish&) {
  return core::Begin{};  // not reached: run() returns at Finish
}

void LaneDriver::notify(const std::function<void(Observer&)>& what) noexcept {
  if (!parts_.observer) return;
  try {
    what(*parts_.observer);
  } catch (...) {  // an observer can never cost a row (observer.hpp)
  }
}

void LaneDriver::notify_changes() {
  auto now = lane_.status();
  if (same_to_a_person(now, reported_)) return;
  reported_ = std::move(now);
  notify([&](Observer& o) { o.lane_changed(reported_); });
}

}  // namespace seriatim::runtime

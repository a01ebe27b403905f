#include "runtime/lane_driver.hpp"

#include <exception>
#include <utility>

namespace seriatim::runtime {

namespace {

using Clock = std::chrono::steady_clock;

/// Grows at 1 s, 10 s, 100 s, …: a wait is told again when it has become another kind of wait.
std::size_t grade(milliseconds age) {
  std::size_t grade = 0;
  for (auto seconds = age / std::chrono::seconds(1); seconds > 0; seconds /= 10) grade += 1;
  return grade;
}

bool same_blockers(const std::vector<Blocker>& a, const std::vector<Blocker>& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a.front().pid == b.front().pid && a.front().gid == b.front().gid &&
         grade(a.front().age) == grade(b.front().age);
}

/// What observers are told about: a change of anything but the counters that move with every row.
bool same_to_a_person(const LaneStatus& a, const LaneStatus& b) {
  return a.state == b.state && a.reason == b.reason && a.detail == b.detail &&
         a.row_id == b.row_id && a.epoch == b.epoch && same_blockers(a.blockers, b.blockers) &&
         (a.state != LaneState::retrying || a.attempts == b.attempts);
}

}  // namespace

LaneDriver::LaneDriver(Parts parts)
    : parts_(std::move(parts)),
      lane_(parts_.config, parts_.lane, {.drain = parts_.drain, .hints = false}),
      random_(std::random_device{}()),
      told_(lane_.status()) {}

LaneStatus LaneDriver::run(const std::stop_token& stop) {
  stop_ = stop;
  std::uniform_real_distribution<double> chance(0.0, 1.0);
  core::Event event = core::Begin{};
  for (;;) {
    const core::Moment moment{Clock::now(), chance(random_), stop.stop_requested()};
    const core::Action action = lane_.on(std::move(event), moment);
    tell_changes();
    if (std::holds_alternative<core::Finish>(action)) return lane_.status();
    event = perform(action);
  }
}

core::Event LaneDriver::perform(const core::Action& action) {
  try {
    return std::visit([&](const auto& a) { return carry_out(a); }, action);
  } catch (const SourceBroken& broken) {
    return core::SourceFailed{broken.reason(), broken.what()};
  } catch (const std::exception& lost) {  // SessionLost, or something as unclear: start afresh
    session_.reset();
    return core::SessionEnded{lost.what()};
  }
}

core::Event LaneDriver::carry_out(const core::OpenSession&) {
  session_.reset();
  session_ = parts_.source->open({parts_.config.name, parts_.lane, parts_.config.lanes},
                                 parts_.config, parts_.holder, waker_);
  lane_.set_hints(session_->hints());
  return core::Opened{};
}

core::Event LaneDriver::carry_out(const core::ClaimLane&) {
  return core::Claimed{session_->claim()};
}

core::Event LaneDriver::carry_out(const core::LookAtCursor&) {
  return core::Looked{session_->look()};
}

core::Event LaneDriver::carry_out(const core::PollSource& action) {
  return core::Polled{session_->poll(action.after, action.rows_max)};
}

core::Event LaneDriver::carry_out(const core::StartBatch& action) {
  return core::Started{session_->start(action.epoch)};
}

core::Event LaneDriver::carry_out(const core::LockCursor& action) {
  return core::Locked{session_->lock(action.epoch, action.expected)};
}

core::Event LaneDriver::carry_out(const core::CallHandler& action) {
  if (Clock::now() > action.not_after) return core::CallExpired{};
  const auto began = Clock::now();
  auto outcome = call(action);
  const auto kind = outcome.next ? outcome.next->kind : Outcome::Kind::done;
  tell([&](Observer& o) { o.called(lane_.status(), kind, Clock::now() - began); });
  return core::Called{std::move(outcome)};
}

/// A handler that throws has failed at a row we cannot know, so none of the batch counts as done.
BatchOutcome LaneDriver::call(const core::CallHandler& action) {
  const CallContext context{action.deadline, action.yield_at, stop_};
  try {
    return parts_.handler->handle(action.records, context);
  } catch (const std::exception& thrown) {
    return {0, Outcome::retry_later(std::string("the handler threw: ") + thrown.what())};
  } catch (...) {
    return {0, Outcome::retry_later("the handler threw something that is no std::exception")};
  }
}

core::Event LaneDriver::carry_out(const core::AdvanceCursor& action) {
  const bool ours = session_->advance(action.epoch, action.from, action.done, action.next_started);
  if (ours) tell([&](Observer& o) { o.delivered(lane_.status(), action.done.size()); });
  return core::Advanced{ours};
}

core::Event LaneDriver::carry_out(const core::NoteRetry& action) {
  return core::Noted{session_->note_retry(action.epoch, action.failure, action.delay)};
}

core::Event LaneDriver::carry_out(const core::HaltLane& action) {
  return core::Noted{session_->halt(action.epoch, action.reason, action.failure)};
}

core::Event LaneDriver::carry_out(const core::ReleaseLane& action) {
  session_->release(action.epoch, action.untouched);
  return core::Released{};
}

core::Event LaneDriver::carry_out(const core::WaitUntil& action) {
  if (session_) {
    session_->wait_until(action.deadline);
  } else {
    waker_.wait_until(action.deadline);
  }
  waker_.clear();
  return core::Woken{};
}

core::Event LaneDriver::carry_out(const core::Finish&) {
  return core::Begin{};  // not reached: run() returns at Finish
}

void LaneDriver::tell(const std::function<void(Observer&)>& what) noexcept {
  if (!parts_.observer) return;
  try {
    what(*parts_.observer);
  } catch (...) {  // an observer can never cost a row (observer.hpp)
  }
}

void LaneDriver::tell_changes() {
  const auto& now = lane_.status();
  if (same_to_a_person(now, told_)) return;
  told_ = now;
  tell([&](Observer& o) { o.lane_changed(now); });
}

}  // namespace seriatim::runtime

#include "runtime/assignment_driver.hpp"

#include <exception>
#include <utility>

#include "core/backoff.hpp"

namespace seriatim::runtime {

using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

/// An instance is not counted after three seconds of silence (MembershipSession).
constexpr auto report_interval = core::LaneAssignment::report_interval;

}  // namespace

AssignmentDriver::AssignmentDriver(Parts parts)
    : parts_(std::move(parts)),
      share_(parts_.holder, parts_.config.lanes),
      random_(std::random_device{}()),
      seen_(Clock::now()) {
  for (auto* lane : parts_.lanes) lane->want(false);
}

void AssignmentDriver::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Time next;
    try {
      const auto asked = read_once(Clock::now());
      if (!asked) return;
      next = *asked;
    } catch (const SourceBroken&) {
      next = blind(Clock::now(), true);
    } catch (const std::exception&) {  // SessionLost, or something as unclear
      next = blind(Clock::now(), false);
    }
    if (waker_.wait_until(next)) waker_.clear();
  }
  leave();
}

/// When to read again; nothing if there is nobody to share with.
std::optional<AssignmentDriver::Time> AssignmentDriver::read_once(Time now) {
  if (!session_) session_ = parts_.source->open_membership(parts_.config, parts_.holder);
  if (!session_) {
    notify(share_.decide_blindly());
    return std::nullopt;
  }
  const bool due = now >= report_at_;
  const auto membership = session_->read(due);
  seen_ = Clock::now();
  if (due) report_at_ = now + report_interval;
  failures_ = 0;
  notify(share_.decide(membership, seen()));
  return seen() + share_.until_next_read(parts_.config.standby_interval);
}

/// What was decided last holds for a while; then no lane shall wait for us to see again.
AssignmentDriver::Time AssignmentDriver::blind(Time now, bool at_once) {
  session_.reset();
  if (at_once || now - seen() > parts_.config.lease) notify(share_.decide_blindly());
  constexpr BackoffConfig pauses{milliseconds{50}, milliseconds{2'000}, milliseconds{0}};
  std::uniform_real_distribution<double> chance(0.0, 1.0);
  return now + core::backoff(pauses, ++failures_, chance(random_));
}

void AssignmentDriver::notify(const std::vector<bool>& wanted) {
  for (std::size_t lane = 0; lane < parts_.lanes.size(); ++lane) {
    parts_.lanes[lane]->want(wanted[lane]);
  }
}

/// The others need not wait until our last calls have ended.
void AssignmentDriver::leave() noexcept {
  try {
    if (session_) session_->leave();
  } catch (...) {  // they see for themselves soon
  }
}

}  // namespace seriatim::runtime

#include "runtime/audit_driver.hpp"

#include <algorithm>
#include <exception>

#include "core/backoff.hpp"

namespace seriatim::runtime {

using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds lanes_interval{100};
constexpr std::chrono::seconds unserved_max{5};

}  // namespace

void AuditDriver::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!lanes_are_served()) {
      session_.reset();
      report_if_unserved_for_long();
      if (waker_.wait_until(Clock::now() + lanes_interval)) waker_.clear();
      continue;
    }
    unserved_since_.reset();
    try {
      if (!open()) return;
      const std::stop_callback interrupt(stop, [this] { session_->interrupt(); });
      const auto due = session_->check();
      failures_ = 0;
      if (!stop.stop_requested()) session_->wait_until(due);
    } catch (const std::exception& e) {  // SessionLost, SourceBroken, or something as unclear
      if (stop.stop_requested()) break;
      if (waker_.wait_until(failed(e.what()))) waker_.clear();
    }
  }
  session_.reset();
}

/// If connections are scarce, delivery has them.
bool AuditDriver::lanes_are_served() const {
  return std::none_of(parts_.lanes.begin(), parts_.lanes.end(),
                      [](const LaneDriver* lane) { return lane->lacks_session(); });
}

bool AuditDriver::open() {
  if (!session_) session_ = parts_.source->open_auditor(parts_.config, parts_.holder, waker_);
  return session_ != nullptr;
}

/// A start, and a short loss of the database, are no news.
void AuditDriver::report_if_unserved_for_long() {
  if (!unserved_since_) unserved_since_ = Clock::now();
  if (failures_ > 0 || Clock::now() < *unserved_since_ + unserved_max) return;
  failures_ += 1;
  report("a lane has no connection: until it has one, none is opened for the audit");
}

void AuditDriver::report(const std::string& why) noexcept {
  if (!parts_.observer) return;
  try {
    parts_.observer->audit_failed(parts_.config.name, why);
  } catch (...) {  // an observer can never cost a row (observer.hpp)
  }
}

/// When to try again.
Clock::time_point AuditDriver::failed(const std::string& why) {
  session_.reset();
  if (failures_++ == 0) report(why);
  constexpr BackoffConfig pauses{milliseconds{50}, milliseconds{10'000}, milliseconds{0}};
  std::uniform_real_distribution<double> chance(0.0, 1.0);
  return Clock::now() + core::backoff(pauses, failures_, chance(random_));
}

}  // namespace seriatim::runtime

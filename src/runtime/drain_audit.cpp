#include "runtime/drain_audit.hpp"

#include <chrono>
#include <exception>
#include <random>

#include "core/backoff.hpp"

namespace seriatim::runtime {

using std::chrono::milliseconds;

bool DrainAudit::check_all(unsigned lane, const std::stop_token& stop) {
  const std::lock_guard only_one(one_at_a_time_);
  Waker waker;
  const std::stop_callback wake(stop, [&] { waker.wake(); });
  constexpr BackoffConfig pauses{milliseconds{50}, milliseconds{10'000}, milliseconds{0}};
  std::mt19937_64 random{std::random_device{}()};
  std::uniform_real_distribution<double> chance(0.0, 1.0);
  for (unsigned failures = 0; !stop.stop_requested();) {
    try {
      const auto session = parts_.source->open_auditor(parts_.config, parts_.holder, waker);
      if (!session) return true;
      const std::stop_callback interrupt(stop, [&] { session->interrupt(); });
      session->check_all([&] { return stop.stop_requested(); }, lane);
      return !stop.stop_requested();
    } catch (const std::exception& e) {  // SessionLost, SourceBroken, or something as unclear
      if (stop.stop_requested()) return false;
      if (failures++ == 0) report(e.what());
      const auto pause = core::backoff(pauses, failures, chance(random));
      waker.wait_until(std::chrono::steady_clock::now() + pause);
    }
  }
  return false;
}

void DrainAudit::report(const std::string& why) noexcept {
  if (!parts_.observer) return;
  try {
    parts_.observer->audit_failed(parts_.config.name, why);
  } catch (...) {  // an observer can never cost a row (observer.hpp)
  }
}

}  // namespace seriatim::runtime

#include "app/service_manager.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/signals.hpp"

namespace seriatim::app {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds status_interval{5'000};

/// WATCHDOG_USEC, if it is meant for this process (WATCHDOG_PID).
std::optional<microseconds> watchdog_of(const Environment& environment) {
  const auto pid = environment("WATCHDOG_PID");
  if (pid && *pid != std::to_string(::getpid())) return std::nullopt;
  const auto text = environment("WATCHDOG_USEC").value_or("");
  microseconds::rep count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count <= 0) return std::nullopt;
  return microseconds(count);
}

}  // namespace

ServiceManager::ServiceManager(const Environment& environment, Parts parts)
    : parts_(std::move(parts)),
      socket_(environment("NOTIFY_SOCKET").value_or(""), watchdog_of(environment)) {
  if (socket_.is_open()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

ServiceManager::~ServiceManager() = default;

void ServiceManager::ready() {
  ready_ = true;
  socket_.ready();
}

void ServiceManager::stopping() {
  socket_.stopping();
  socket_.extend_timeout(parts_.grace);
}

void ServiceManager::run(const std::stop_token& stop) {
  const auto interval = std::min<microseconds>(
      status_interval, socket_.watchdog_interval().value_or(status_interval));
  std::string said;
  do {
    const auto health = parts_.liveness();
    if (health.good) socket_.watchdog();
    if (!ready_) socket_.extend_timeout(3 * status_interval);
    const auto status = health.good ? parts_.status() : health.text;
    if (status != said) socket_.status(status);
    said = status;
  } while (sleep_unless_stopped(std::chrono::duration_cast<milliseconds>(interval), stop));
}

}  // namespace seriatim::app

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "app/environment.hpp"
#include "console/health.hpp"
#include "console/notify_socket.hpp"

namespace seriatim::app {

/// Keeps the service manager informed while the relay runs: READY at once when `ready`, STATUS when
/// it changes (waiting for the database, that it needs longer to start), WATCHDOG while no thread
/// hangs, EXTEND_TIMEOUT_USEC while the last calls end.
class ServiceManager {
 public:
  struct Parts {
    std::function<console::Health()> liveness;
    std::function<std::string()> status;  ///< one line for `systemctl status`
    std::chrono::microseconds grace;      ///< how long the last calls may take
  };
  ServiceManager(const Environment& environment, Parts parts);
  ~ServiceManager();

  void ready();
  /// Threads: any, but not from a signal handler.
  void stopping();

 private:
  void run(const std::stop_token& stop);

  Parts parts_;
  console::NotifySocket socket_;
  std::atomic<bool> ready_ = false;
  std::jthread thread_;
};

}  // namespace seriatim::app

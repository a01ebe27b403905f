#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "console/desk.hpp"
#include "console/events.hpp"

namespace seriatim::console {

/// The recount that a person asked for: one at a time, in a thread of its own. Listeners are
/// notified how far it is, and what it found.
///
/// Threads: any.
class Recounts {
 public:
  Recounts(Desk& desk, Events& events) : desk_(desk), events_(events) {}

  /// Throws Conflict if one runs.
  void start(const std::string& process, const std::string& who);
  /// Throws NotFound if none runs for this process. It ends soon.
  void stop(const std::string& process);

 private:
  void run(const std::string& process, const std::string& who, const std::stop_token& stop);

  Desk& desk_;
  Events& events_;
  std::mutex mutex_;
  std::string running_;  ///< its process; empty: none
  std::jthread thread_;
};

}  // namespace seriatim::console

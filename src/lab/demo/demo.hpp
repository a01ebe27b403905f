#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

namespace seriatim::lab {

/// A stop takes a second; after this the program may end by force.
constexpr std::chrono::minutes demo_stop_max{2};

struct DemoOptions {
  std::chrono::seconds length{30};
  bool keep = false;  ///< leave the folder (database, configuration, logs) to examine
};

/// The main job on real parts: private PostgreSQL, bookings written by concurrent transactions,
/// an SMS provider on loopback HTTP, and `seriatim run` as a program of its own. Ends with a
/// verdict taken at the receiver. `say` gets what a person reads, line by line. A stop ends it
/// cleanly within seconds. Returns the exit status.
int run_demo(const DemoOptions& options, const std::stop_token& stop,
             const std::function<void(const std::string&)>& say);

}  // namespace seriatim::lab

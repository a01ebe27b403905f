#pragma once

#include <chrono>

namespace seriatim::app {

struct DemoOptions {
  std::chrono::seconds length{30};
  bool keep = false;  ///< leave the folder (database, configuration, logs) for a look around
};

/// The main job on real parts: private PostgreSQL, bookings written by concurrent transactions,
/// an SMS provider on loopback HTTP, and `seriatim run` as a program of its own. Ends with a
/// verdict taken at the receiver. Answers the exit status.
int run_demo(const DemoOptions& options);

}  // namespace seriatim::app

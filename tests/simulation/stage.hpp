#pragma once

#include "simulation/evidence.hpp"
#include "simulation/random.hpp"
#include "simulation/scheduler.hpp"
#include "simulation/setup.hpp"
#include "simulation/trace.hpp"

namespace seriatim::simulation {

/// What every actor of a run shares.
struct Stage {
  Stage(const Setup& drawn, bool traced)
      : setup(drawn), random(drawn.seed), scheduler(random), trace(traced) {}

  const Setup setup;
  Random random;
  Scheduler scheduler;
  Trace trace;
  Evidence evidence;
  bool faults_over = false;  ///< the liveness phase: nothing fails any more

  [[nodiscard]] Micros now() const { return scheduler.now(); }
  [[nodiscard]] bool strikes(double probability) {
    return !faults_over && probability > 0 && random.chance(probability);
  }
  [[nodiscard]] bool sabotaged(Sabotage sabotage) const { return setup.sabotage == sabotage; }
  void fault(std::optional<unsigned> relay, const char* what, bool session_ended = false) {
    evidence.faults.push_back({now(), relay, what, session_ended});
    trace(now(), "fault", [&] {
      return std::string(what) + (relay ? " (relay " + std::to_string(*relay) + ")" : "");
    });
  }
};

}  // namespace seriatim::simulation

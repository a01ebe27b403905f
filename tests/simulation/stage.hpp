#pragma once

#include <functional>

#include "simulation/evidence.hpp"
#include "simulation/random.hpp"
#include "simulation/scheduler.hpp"
#include "simulation/setup.hpp"
#include "simulation/trace.hpp"
#include "support/choices.hpp"

namespace seriatim::simulation {

/// What every actor of a run shares.
struct Stage {
  Stage(const Setup& drawn, bool traced, testing::Choices* every_way = nullptr)
      : setup(drawn),
        random(drawn.seed),
        scheduler(random),
        trace(traced),
        choices(every_way),
        troubles_left(drawn.troubles_max) {}

  const Setup setup;
  Random random;
  Scheduler scheduler;
  Trace trace;
  Evidence evidence;
  bool faults_over = false;  ///< the liveness phase: nothing fails any more

  testing::Choices* choices;  ///< a small space: what may strike is tried, not drawn
  unsigned troubles_left;     ///< … so often in one run
  std::function<void()> operator_act;

  [[nodiscard]] Micros now() const { return scheduler.now(); }
  [[nodiscard]] bool strikes(double probability) {
    if (faults_over || probability <= 0) return false;
    if (choices == nullptr) return random.chance(probability);
    if (troubles_left == 0 || choices->pick(2) == 0) return false;
    --troubles_left;
    return true;
  }
  /// 0 … options - 1: of what kind a trouble is, or what a person does.
  [[nodiscard]] std::int64_t one_of(std::int64_t options) {
    if (choices == nullptr) return random.between(0, options - 1);
    if (faults_over) return 0;
    return static_cast<std::int64_t>(choices->pick(static_cast<std::size_t>(options)));
  }
  [[nodiscard]] bool sabotaged(Sabotage sabotage) const { return setup.sabotage == sabotage; }
  void fault(std::optional<unsigned> relay, const char* what, bool session_ended = false,
             bool unheard = false) {
    evidence.faults.push_back({now(), relay, what, session_ended, unheard});
    trace(now(), "fault", [&] {
      return std::string(what) + (relay ? " (relay " + std::to_string(*relay) + ")" : "");
    });
  }
};

}  // namespace seriatim::simulation

#pragma once

#include <optional>
#include <string>

#include "core/mutant.hpp"
#include "simulation/checkers.hpp"
#include "simulation/setup.hpp"
#include "support/choices.hpp"

namespace seriatim::simulation {

struct Result {
  std::optional<Violation> violation;
  std::size_t rows = 0;  ///< committed
  std::size_t attempts = 0;

  struct Meddled {  ///< what people and clocks did to the lane
    std::size_t late_halts = 0, clock_halts = 0, late_skips = 0, moved_rows = 0, jumps = 0,
                times_back = 0;
    Meddled& operator+=(const Meddled& other);
  } meddled;
};

/// One seed, one story: a safety phase with faults, then a liveness phase without.
[[nodiscard]] Result run(const Setup& setup);

/// A space: of what may strike, `setup.troubles_max` in each run, wherever the choices say.
[[nodiscard]] Result run(const Setup& setup, testing::Choices& choices);

/// The same story again, written step by step up to `end`.
[[nodiscard]] std::string tell(const Setup& setup, Micros end, testing::Choices* choices = nullptr);

}  // namespace seriatim::simulation

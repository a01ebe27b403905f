#pragma once

#include <optional>
#include <string>

#include "core/mutant.hpp"
#include "simulation/checkers.hpp"
#include "simulation/setup.hpp"

namespace seriatim::simulation {

struct Result {
  std::optional<Violation> violation;
  std::size_t rows = 0;  ///< committed
  std::size_t attempts = 0;
};

/// One seed, one story: a safety phase with faults, then a liveness phase without.
[[nodiscard]] Result run(const Setup& setup);

/// The same story again, told step by step up to `end`.
[[nodiscard]] std::string tell(const Setup& setup, Micros end);

}  // namespace seriatim::simulation

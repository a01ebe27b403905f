#pragma once

#include <optional>
#include <string>

#include "simulation/evidence.hpp"
#include "simulation/setup.hpp"

namespace seriatim::simulation {

struct Violation {
  std::string rule;  ///< "P1" … "P7", "P9", "liveness"
  Micros at = 0;
  std::string text;
};

/// Judges a run by what was seen from outside: no word of the code under test is believed.
/// Answers the earliest breach of P2–P7 and P9; `at_rest` asks for P1 too.
[[nodiscard]] std::optional<Violation> judge(const Setup& setup, const Evidence& evidence,
                                             bool at_rest);

}  // namespace seriatim::simulation

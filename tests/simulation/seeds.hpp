#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "simulation/world.hpp"

namespace seriatim::simulation {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::stoull(text) : fallback;
}

/// "seed 17 breaks P2 …", the setup, the last steps before it, and how to see it again.
inline std::string story(const Setup& setup, const Violation& violation) {
  return "seed " + std::to_string(setup.seed) + " breaks " + violation.rule + ": " +
         violation.text + "\n" + describe(setup) + "\n" + tell(setup, violation.at) +
         "again: SERIATIM_SIM_SEED=" + std::to_string(setup.seed);
}

}  // namespace seriatim::simulation

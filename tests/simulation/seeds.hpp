#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simulation/world.hpp"

namespace seriatim::simulation {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::stoull(text) : fallback;
}

/// A broken invariant aborts the program: its last words then name the seed.
class SeedInUse {
 public:
  explicit SeedInUse(std::uint64_t seed) {
    in_flight_ = seed;
    if (previous_ == nullptr) previous_ = std::signal(SIGABRT, last_words);
  }

 private:
  static void last_words(int signal) {
    std::fprintf(stderr, "the seed in use: SERIATIM_SIM_SEED=%llu\n",
                 static_cast<unsigned long long>(in_flight_));
    std::signal(signal, previous_);
    std::raise(signal);
  }
  inline static std::uint64_t in_flight_ = 0;
  inline static void (*previous_)(int) = nullptr;
};

/// "seed 17 breaks P2 …", the setup, the last steps before it, and how to see it again.
inline std::string story(const Setup& setup, const Violation& violation) {
  return "seed " + std::to_string(setup.seed) + " breaks " + violation.rule + ": " +
         violation.text + "\n" + describe(setup) + "\n" + tell(setup, violation.at) +
         "again: SERIATIM_SIM_SEED=" + std::to_string(setup.seed);
}

}  // namespace seriatim::simulation

// One seed, one story. SERIATIM_SIM_SEEDS runs more of them, SERIATIM_SIM_SEED tells one.
#include <doctest/doctest.h>

#include "simulation/seeds.hpp"

using namespace seriatim::simulation;

namespace {

void check_seed(std::uint64_t seed, Profile profile) {
  const auto setup = draw_setup(seed, profile);
  CAPTURE(seed);
  const SeedInHand in_hand(seed);
  const auto result = run(setup);
  if (result.violation) FAIL(story(setup, *result.violation));
  CHECK(result.rows > 0);
}

void check_seeds(Profile profile, std::uint64_t count) {
  if (const auto one = number_from_environment("SERIATIM_SIM_SEED", 0)) {
    return check_seed(one, profile);
  }
  const auto seeds = number_from_environment("SERIATIM_SIM_SEEDS", count);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) check_seed(seed, profile);
}

}  // namespace

TEST_SUITE("simulation") {
  TEST_CASE("P1 to P7 hold where nothing fails") {
    check_seeds(Profile::calm, 500);
  }

  TEST_CASE("P1 to P7 hold whatever producers do") {
    check_seeds(Profile::producers, 1'000);
  }

  TEST_CASE("P1 to P7 hold when everything fails, and all is delivered once it no longer does") {
    check_seeds(Profile::everything, 2'000);
  }
}

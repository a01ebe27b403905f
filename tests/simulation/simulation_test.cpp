// One seed, one story. SERIATIM_SIM_SEEDS runs more of them, SERIATIM_SIM_SEED tells one.
#include <doctest/doctest.h>

#include "simulation/seeds.hpp"

using namespace seriatim::simulation;

namespace {

/// Answers how many rows were committed.
std::size_t check_seed(std::uint64_t seed, Profile profile) {
  const auto setup = draw_setup(seed, profile);
  CAPTURE(seed);
  const SeedInHand in_hand(seed);
  const auto result = run(setup);
  if (result.violation) FAIL(story(setup, *result.violation));
  CHECK(result.rows > 0);
  return result.rows;
}

void check_seeds(Profile profile, std::uint64_t count) {
  if (const auto one = number_from_environment("SERIATIM_SIM_SEED", 0)) {
    check_seed(one, profile);
    return;
  }
  const auto seeds = number_from_environment("SERIATIM_SIM_SEEDS", count);
  std::size_t rows = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) rows += check_seed(seed, profile);
  MESSAGE(std::string(to_string(profile)), ": ", seeds, " schedules, ", rows, " committed rows");
}

}  // namespace

TEST_SUITE("simulation") {
  TEST_CASE("P1 to P7 hold where nothing fails") {
    check_seeds(Profile::calm, 500);
  }

  // FAULTS 4. A seed is a schedule: two to four producers, some 60 rows, one to three rows a
  // transaction; all seeds together commit over 550 000 rows in about five seconds.
  TEST_CASE("P1 to P7 hold in 10 000 random schedules of whatever producers do") {
    check_seeds(Profile::producers, 10'000);
  }

  TEST_CASE("P1 to P7 hold when everything fails, and all is delivered once it no longer does") {
    check_seeds(Profile::everything, 2'000);
  }
}

// Instances that share the lanes of a process: whatever becomes of them each lane keeps P1 to P7,
// and once nothing fails any more the lanes are evenly held. SERIATIM_SIM_SEED shows one seed.
#include <doctest/doctest.h>

#include <cmath>

#include "core/mutant.hpp"
#include "simulation/fleet.hpp"
#include "simulation/seeds.hpp"

using namespace seriatim::simulation;
using seriatim::core::active_mutant;
using seriatim::core::Mutant;

namespace {

void check_fleets(std::uint64_t count, bool calm) {
  const auto one = number_from_environment("SERIATIM_SIM_SEED", 0);
  const auto seeds = one != 0 ? one : number_from_environment("SERIATIM_SIM_SEEDS", count);
  Fleet::Outcome all;
  for (auto seed = one != 0 ? one : 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const SeedInUse in_flight(seed);
    const auto outcome = Fleet(seed, calm, Sabotage::none).live();
    if (const auto& broken = outcome.violation) FAIL(broken->rule, ": ", broken->text);
    all.rows += outcome.rows;
    all.hand_overs += outcome.hand_overs;
    all.slowest = std::max(all.slowest, outcome.slowest);
  }
  MESSAGE(seeds, " fleets, ", all.rows, " rows, lanes taken ", all.hand_overs,
          " times; even again within ", all.slowest / millisecond, " ms at most");
}

void must_be_caught(Mutant mutant, Sabotage sabotage, std::uint64_t seeds_max, bool calm,
                    const std::string& rules) {
  for (std::uint64_t seed = 1; seed <= seeds_max; ++seed) {
    active_mutant = mutant;
    const auto caught = Fleet(seed, calm, sabotage).live().violation;
    active_mutant = Mutant::none;
    if (!caught) continue;
    CAPTURE(seed);
    MESSAGE("caught by seed ", seed, ": ", caught->rule, ": ", caught->text);
    CHECK(rules.find(caught->rule) != std::string::npos);
    CHECK_FALSE(Fleet(seed, calm, Sabotage::none).live().violation);
    return;
  }
  FAIL("not caught within ", seeds_max, " seeds");
}

std::string text_of(const Fleet::Turn& turn, Fleet::Size size) {
  return std::to_string(size.lanes) + " lanes, " + turn.what + ", " +
         std::to_string(turn.instances) + " run: even after " +
         std::to_string(turn.even_after / millisecond) + " ms, " + std::to_string(turn.moved) +
         " lanes moved, " + std::to_string(std::lround(turn.looks_per_s)) + " reads a second";
}

}  // namespace

TEST_SUITE("fleets: instances that share lanes") {
  TEST_CASE("joining, stopping and late reads: no row repeated, lanes even within 5 s") {
    check_fleets(300, true);
  }
  TEST_CASE("… dying, frozen and cut off from their lanes too") {
    check_fleets(400, false);
  }
  TEST_CASE(
      "many instances and lanes: even again whoever comes and goes, no row lost or repeated") {
    const Fleet::Size size{
        static_cast<unsigned>(number_from_environment("SERIATIM_SIM_LANES", 150)),
        static_cast<unsigned>(number_from_environment("SERIATIM_SIM_INSTANCES", 20))};
    const auto seed = number_from_environment("SERIATIM_SIM_SEED", 1);
    const auto growth = Fleet(seed, size, Sabotage::none).grow_and_shrink();
    for (const auto& turn : growth.turns) MESSAGE(text_of(turn, size));
    if (const auto& broken = growth.violation) FAIL(broken->rule, ": ", broken->text);
    CHECK(growth.turns.size() == 8);
    MESSAGE(growth.rows, " rows");
  }
  TEST_CASE("… and where they never give up a lane, or do not see each other, that is noticed") {
    const auto broken_by = [](Mutant mutant, Sabotage sabotage) {
      active_mutant = mutant;
      const auto broken = Fleet(1, Fleet::Size{40, 10}, sabotage).grow_and_shrink().violation;
      active_mutant = Mutant::none;
      return broken ? broken->rule : "";
    };
    CHECK(broken_by(Mutant::none, Sabotage::none).empty());
    CHECK(broken_by(Mutant::never_given_up, Sabotage::none) == "even");
    CHECK(broken_by(Mutant::none, Sabotage::instances_unseen) == "even");
  }
  TEST_CASE("a lane given up before what it delivered is committed repeats rows") {
    must_be_caught(Mutant::given_up_mid_batch, Sabotage::none, 300, true, "P2 P3");
  }
  TEST_CASE("instances that never give up a lane leave nothing to those that join") {
    must_be_caught(Mutant::never_given_up, Sabotage::none, 20, true, "even P5");
  }
  TEST_CASE("a claim granted though another holds the lane takes it from a healthy holder") {
    must_be_caught(Mutant::none, Sabotage::held_lane_granted, 20, true, "P5");
  }
  TEST_CASE("instances that do not see each other are uneven") {
    must_be_caught(Mutant::none, Sabotage::instances_unseen, 20, true, "even");
  }
  TEST_CASE("a lane left to an instance that cannot take it waits") {
    must_be_caught(Mutant::none, Sabotage::orphans_left, 200, false, "P1 liveness");
  }
}

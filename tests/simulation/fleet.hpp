#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/lane_assignment.hpp"
#include "simulation/one_lane.hpp"

namespace seriatim::simulation {

/// Many lanes of one process, and the instances that share them: each lane is a World of its own,
/// relay i of every one of them is instance i, and its core::LaneAssignment says which to hold. All
/// lanes are driven in step; instances join, die, freeze, fall silent and are cut off as a whole.
class Fleet {
 public:
  struct Size {
    unsigned lanes = 0;
    unsigned instances = 0;
  };
  Fleet(std::uint64_t seed, bool calm, Sabotage sabotage);
  /// As large as given, and nothing fails but what `grow_and_shrink` does.
  Fleet(std::uint64_t seed, Size size, Sabotage sabotage);

  struct Outcome {
    std::optional<Violation> violation;
    std::size_t rows = 0;
    std::size_t hand_overs = 0;
    Micros slowest = 0;  ///< to be even again after an instance came or went
  };
  Outcome live();

  /// What came or went, and how the others took it.
  struct Turn {
    std::string what;
    unsigned instances = 0;  ///< running afterwards
    Micros even_after = 0;   ///< since the last of it
    std::size_t moved = 0;   ///< lanes that changed hands
    double looks_per_s = 0;  ///< of all instances, once the lanes are even
  };
  struct Growth {
    std::optional<Violation> violation;
    std::vector<Turn> turns;
    std::size_t rows = 0;
  };
  /// Instances join, are killed, vanish and are replaced, alone and by the dozen, while rows come:
  /// ten at least (large_fleet.cpp).
  Growth grow_and_shrink();

 private:
  struct Instance {
    std::unique_ptr<core::LaneAssignment> share;  ///< while it runs
    std::string name;
    unsigned life = 0;
    bool stopping = false;
    bool cut_off = false;
    Micros frozen_until = 0;
    Micros silent_until = 0;  ///< its reads are late
    Micros read_at = 0;
    Micros tell_at = 0;
    std::optional<Micros> reported_at;         ///< as its row says
    std::optional<Micros> gone_at;             ///< killed: its row counts no longer from then on
    std::optional<std::vector<bool>> decided;  ///< sent to its lanes a moment later
  };

  void pass(Micros time);
  bool until(Micros time, bool (Fleet::*fact)() const);
  void step();
  void trouble();
  void join(std::size_t number);
  void act(Instance& instance, std::size_t number);
  void look(Instance& instance);
  [[nodiscard]] Membership membership_for(const Instance& instance) const;
  [[nodiscard]] bool counts(const Instance& instance) const;
  void die(std::size_t number, bool noticed);
  void stop(std::size_t number);
  void end_faults();
  void somebody_runs();
  std::optional<Violation> come_and_go();
  std::optional<Violation> demand_even(const std::string& after, Micros within);
  void set_up(const std::function<Setup(unsigned lane)>& setup);

  // large_fleet.cpp
  void come_one_by_one(std::size_t from, std::size_t to);
  void deploy_anew(std::size_t count);
  std::optional<Turn> turn(const std::string& what, Micros within,
                           const std::function<void()>& act);

  [[nodiscard]] bool runs(std::size_t number) const { return instances_[number].share != nullptr; }
  [[nodiscard]] std::vector<unsigned> held() const;
  [[nodiscard]] std::optional<std::size_t> holder_of(const World& lane) const;
  [[nodiscard]] bool even() const;
  [[nodiscard]] bool all_at_rest() const;
  [[nodiscard]] std::size_t hand_overs() const;
  [[nodiscard]] std::string shares_text() const;

  Random random_;
  Size size_;
  Sabotage sabotage_;
  bool calm_;
  bool one_cut_off_ = false;  ///< to the end: one instance can hold no lane
  bool faults_over_ = false;
  Micros now_ = 0;
  Micros slowest_ = 0;
  std::uint64_t reads_ = 0;
  std::vector<std::unique_ptr<World>> lanes_;
  std::vector<Instance> instances_;
};

}  // namespace seriatim::simulation

#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "simulation/auditor.hpp"
#include "simulation/operators.hpp"
#include "simulation/producer.hpp"
#include "simulation/relay.hpp"
#include "simulation/world.hpp"

namespace seriatim::simulation {

/// A table, its producers and receiver, operators, and the relays of one lane.
class World {
 public:
  World(const Setup& setup, bool traced, testing::Choices* choices);

  std::optional<Violation> live(Micros end);
  [[nodiscard]] const Stage& stage() const { return stage_; }

  // For whoever drives many lanes in step (fleet.hpp).
  void start();
  void pass_until(Micros time) {
    stage_.scheduler.run_until(time, [] { return false; });
  }
  void end_faults();
  [[nodiscard]] bool is_at_rest() const { return nothing_waits() && all_decided_on(); }
  [[nodiscard]] std::optional<Violation> verdict(bool at_rest) const;
  Relay& relay(std::size_t number) { return relays_[number]; }
  [[nodiscard]] const Relay& relay(std::size_t number) const { return relays_[number]; }
  [[nodiscard]] const CursorStore& cursors() const { return server_.cursors(); }

 private:
  void pass(Micros time) {
    until(time, [] { return false; });
  }
  bool until(Micros time, const std::function<bool()>& fact);
  bool come_to_rest();
  bool stop_all();
  bool drain();
  [[nodiscard]] bool nothing_waits() const;
  [[nodiscard]] bool rows_astray_are_accounted_for() const;
  [[nodiscard]] bool all_rows_are_there() const {
    return stage_.evidence.rows.size() >= stage_.setup.rows_max;
  }
  [[nodiscard]] bool none_goes_out_again() const {
    const auto parked = server_.cursors().aside().parked();
    return std::none_of(parked.begin(), parked.end(), [](const auto& row) { return row.due; });
  }
  [[nodiscard]] bool all_decided_on() const { return server_.cursors().aside().parked().empty(); }
  [[nodiscard]] bool nobody_runs() const;
  [[nodiscard]] std::optional<Violation> stuck(const std::string& what) const;
  [[nodiscard]] std::optional<Violation> busy() const;

  Stage stage_;
  mutable Server server_;
  Receiver receiver_;
  Operators operators_;
  std::deque<Producer> producers_;
  std::deque<Relay> relays_;
  std::deque<Auditor> auditors_;
  Micros end_ = std::numeric_limits<Micros>::max();
};

}  // namespace seriatim::simulation

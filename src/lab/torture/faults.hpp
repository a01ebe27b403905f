#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/torture/network.hpp"
#include "lab/torture/producers.hpp"
#include "lab/torture/receiver.hpp"
#include "lab/torture/relays.hpp"
#include "lab/torture/timetable.hpp"

namespace seriatim::torture {

/// Carries out the faults of a timetable, at the moments that hurt most, and counts what happened.
///
/// Threads: one, that of the run.
class Faults {
 public:
  struct Parts {
    const Settings& settings;
    const Stage& stage;
    Relays& relays;
    Producers& producers;
    Receiver& receiver;
    Network* network;  ///< the relays go through it; null: they go straight
  };
  explicit Faults(const Parts& parts);

  /// What is due now: faults begin, frozen relays are thawed.
  void tick();
  /// No more faults: all that is frozen or held goes on.
  void end();

  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;
  /// "kill 4, freeze 2"
  [[nodiscard]] std::string summary() const;
  /// How many faults may have had rows of a lane of this stream delivered twice.
  [[nodiscard]] std::size_t count_for(const std::string& process) const;
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  using Clock = std::chrono::steady_clock;

  void perform(const Fault& fault);
  void freeze(std::uint64_t dice);
  void thaw();
  void terminate(std::uint64_t dice);
  void crash(std::uint64_t dice, const std::function<void()>& carry_out, const char* kind);
  void lie_in_wait();
  void wait_until_drained();
  void thaw_when_due();

  Parts parts_;
  std::vector<Fault> faults_;
  std::size_t next_ = 0;
  Clock::time_point began_ = Clock::now();

  struct Frozen {
    std::size_t relay = 0;
    Clock::time_point until;
  };
  std::optional<Frozen> frozen_;
  std::map<std::string, std::uint64_t> counts_;
  std::map<std::string, std::size_t> terminated_;  ///< sessions of relays, by process
  std::vector<std::string> left_out_;
};

}  // namespace seriatim::torture

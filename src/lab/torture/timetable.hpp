#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace seriatim::torture {

enum class FaultKind { kill, freeze, terminate, restart, net, promote };

struct Fault {
  std::chrono::milliseconds at;  ///< after the beginning
  FaultKind kind = FaultKind::kill;
  std::uint64_t dice = 0;  ///< what the fault draws its details from
};

/// The faults of a run, in time order: each kind several times, the first soon enough that a short
/// run meets every kind. The same for the same arguments.
[[nodiscard]] std::vector<Fault> timetable(std::uint64_t seed, const std::vector<FaultKind>& kinds,
                                           std::chrono::milliseconds length);

}  // namespace seriatim::torture

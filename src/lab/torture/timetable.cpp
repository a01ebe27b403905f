#include "lab/torture/timetable.hpp"

#include <algorithm>
#include <random>

namespace seriatim::torture {

using std::chrono::milliseconds;

namespace {

/// Mean time between two faults of a kind.
milliseconds interval(FaultKind kind) {
  switch (kind) {
    case FaultKind::kill: return milliseconds{4'000};
    case FaultKind::freeze: return milliseconds{7'000};
    case FaultKind::terminate: return milliseconds{2'500};
    case FaultKind::restart: return milliseconds{13'000};
    case FaultKind::net: return milliseconds{3'500};
    case FaultKind::promote: return milliseconds{30'000};
  }
  return milliseconds{5'000};
}

}  // namespace

std::vector<Fault> timetable(std::uint64_t seed, const std::vector<FaultKind>& kinds,
                             milliseconds length) {
  std::vector<Fault> faults;
  for (const auto kind : kinds) {
    std::mt19937_64 random(seed * 31 + static_cast<std::uint64_t>(kind));
    const auto mean = std::min(interval(kind), length / 3);
    const auto share = [&](double from, double to) {
      return milliseconds(static_cast<std::int64_t>(
          static_cast<double>(mean.count()) * std::uniform_real_distribution(from, to)(random)));
    };
    for (auto at = share(0.3, 1.0); at < length; at += share(0.6, 1.4)) {
      faults.push_back({at, kind, random()});
    }
  }
  std::sort(faults.begin(), faults.end(),
            [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return faults;
}

}  // namespace seriatim::torture

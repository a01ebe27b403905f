#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "postgres/store/start_place.hpp"

namespace seriatim::postgres {

/// What a running relay knows of the cursors it has seen, over all of its sessions. A cursor that
/// disappears, or is made anew, is not taken for that of a new process. A lane is taken from a
/// silent holder only after this program has seen it silent.
///
/// Threads: any; lanes share it.
class CursorMemory {
 public:
  /// When the process began, as its cursor rows say; µs since 1970.
  [[nodiscard]] std::optional<std::int64_t> began(const std::string& process) const {
    const std::scoped_lock lock(mutex_);
    const auto found = began_.find(process);
    return found == began_.end() ? std::nullopt : std::optional(found->second);
  }
  void saw(const std::string& process, std::int64_t began_us) {
    const std::scoped_lock lock(mutex_);
    began_.emplace(process, began_us);
  }
  /// What a lane, and so one thread, has found out about where its process begins.
  StartFinder& start_of(const LaneId& lane, const SourceConfig& source) {
    const std::scoped_lock lock(mutex_);
    return starts_.try_emplace({lane.process, lane.lane}, source).first->second;
  }

  /// What says that a holder lives: a renewal changes the lease, another holder the epoch.
  struct Lease {
    std::string epoch;
    std::string until;  ///< empty: nobody holds the lane
    bool operator==(const Lease&) const = default;
  };
  /// To be called when the server has answered.
  void saw(const LaneId& lane, Lease lease) {
    const std::scoped_lock lock(mutex_);
    auto& watched = leases_[{lane.process, lane.lane}];
    if (watched.lease != lease) watched = {std::move(lease), Clock::now()};
  }
  /// The lease that was seen unchanged for longer than `time`, on this program's clock.
  [[nodiscard]] std::optional<Lease> unchanged_for(const LaneId& lane,
                                                   std::chrono::milliseconds time) const {
    const std::scoped_lock lock(mutex_);
    const auto found = leases_.find({lane.process, lane.lane});
    const bool long_enough = found != leases_.end() && !found->second.lease.until.empty() &&
                             Clock::now() - found->second.since > time;
    return long_enough ? std::optional(found->second.lease) : std::nullopt;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    Lease lease;
    Clock::time_point since;
  };
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> began_;
  std::map<std::pair<std::string, unsigned>, StartFinder> starts_;
  std::map<std::pair<std::string, unsigned>, Watched> leases_;
};

}  // namespace seriatim::postgres

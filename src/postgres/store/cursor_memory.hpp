#pragma once

#include <algorithm>
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
    std::string until;                    ///< empty: nobody holds the lane
    std::chrono::milliseconds length{0};  ///< what the holder asked for; 0: not known
    bool operator==(const Lease&) const = default;
  };
  /// To be called when the server has answered. True: the same holder has renewed it.
  bool saw(const LaneId& lane, Lease lease) {
    const std::scoped_lock lock(mutex_);
    auto& watched = leases_[{lane.process, lane.lane}];
    if (watched.lease == lease) return false;
    const bool held = !watched.lease.until.empty() && !lease.until.empty();
    const bool renewed = held && watched.lease.epoch == lease.epoch;
    watched = {std::move(lease), Clock::now()};
    return renewed;
  }
  /// The lease that was seen unchanged for longer than its length, on this program's clock.
  [[nodiscard]] std::optional<Lease> silent(const LaneId& lane,
                                            std::chrono::milliseconds own_lease) const {
    const std::scoped_lock lock(mutex_);
    const auto found = leases_.find({lane.process, lane.lane});
    if (found == leases_.end() || found->second.lease.until.empty()) return std::nullopt;
    const auto& [lease, since] = found->second;
    const bool long_enough = Clock::now() - since > std::max(lease.length, own_lease);
    return long_enough ? std::optional(lease) : std::nullopt;
  }
  /// The newest epoch that was seen of a lane; 0: none.
  [[nodiscard]] std::uint64_t epoch(const LaneId& lane) const {
    const std::scoped_lock lock(mutex_);
    const auto found = epochs_.find({lane.process, lane.lane});
    return found == epochs_.end() ? 0 : found->second;
  }
  void saw_epoch(const LaneId& lane, std::uint64_t epoch) {
    const std::scoped_lock lock(mutex_);
    epochs_[{lane.process, lane.lane}] = epoch;
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
  std::map<std::pair<std::string, unsigned>, std::uint64_t> epochs_;
};

}  // namespace seriatim::postgres

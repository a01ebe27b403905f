#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "postgres/store/start_place.hpp"

namespace seriatim::postgres {

/// What a running relay knows of the cursors it has seen, over all of its sessions: a cursor that
/// disappears, or is made anew, is not taken for that of a new process.
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

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> began_;
  std::map<std::pair<std::string, unsigned>, StartFinder> starts_;
};

}  // namespace seriatim::postgres

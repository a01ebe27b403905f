#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "seriatim/source.hpp"

namespace seriatim::testing {

/// Cursors and rows set aside, in memory: what the stores of a source without a database share.
///
/// Threads: any.
class MemoryCursors {
 public:
  /// A lane's store. `waker` outlives it.
  [[nodiscard]] static std::unique_ptr<Store> open(std::shared_ptr<MemoryCursors> cursors,
                                                   const LaneId& lane, const std::string& holder,
                                                   Waker& waker);

  // What an operator's acts do to a lane. Each throws Error if it does not apply.
  void pause(const LaneId& lane);
  void resume(const LaneId& lane);
  void hold(const LaneId& lane, bool on);
  void retry(const LaneId& lane);
  /// The row the lane is at failed, and is the next one after the cursor.
  void skip(const LaneId& lane, const Position& row);
  void redrive(const std::string& process);

  [[nodiscard]] std::vector<std::string> parked(const std::string& process) const;
  [[nodiscard]] Cursor cursor(const LaneId& lane) const;
  /// Wakes all lanes.
  void hint() const;

  /// Every open store, and reader, of before is lost.
  void drop_sessions();
  [[nodiscard]] unsigned generation() const;

 private:
  class LaneStore;
  /// In the order they were set aside.
  struct SetAside {
    Position row;
    std::optional<std::string> key;
    bool holds_key = false;
    bool failed = false;
    bool redriven = false;
    bool begun = false;
    std::optional<std::chrono::steady_clock::time_point> retry_at{};  ///< held: due then
    unsigned attempts = 0;                                            ///< that failed
  };
  struct Lane {
    Cursor cursor;
    std::string holder;
    const void* store = nullptr;  ///< of the holder; null once it is gone
    bool released = true;
    std::chrono::steady_clock::time_point retry_at;
    std::uint64_t handed_to = 0;  ///< the highest number a receiver may have seen
  };

  Lane& lane(const LaneId& id);
  void wake_all() const;

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, unsigned>, Lane> lanes_;
  std::map<std::string, std::vector<SetAside>> set_aside_;  ///< by process
  std::multiset<Waker*> wakers_;
  unsigned generation_ = 0;
};

/// Which lane has the rows of a key.
[[nodiscard]] inline unsigned lane_of(const std::optional<std::string>& key, unsigned lanes) {
  return static_cast<unsigned>((key ? std::hash<std::string>{}(*key) : 0) % lanes);
}

}  // namespace seriatim::testing

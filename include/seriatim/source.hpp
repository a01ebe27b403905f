#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "seriatim/config.hpp"
#include "seriatim/reader.hpp"
#include "seriatim/store.hpp"

namespace seriatim {

/// Who a store and a reader speak for.
struct LaneId {
  std::string process;
  unsigned lane = 0;
  unsigned lanes = 1;
};

/// Makes `wait_until` of a reader return. Outlives readers; safe from any thread and,
/// `wake` only, from signal handlers.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake() noexcept;
  void clear() noexcept;
  [[nodiscard]] int fd() const { return fd_; }  ///< readable while woken: for poll(2)
  /// Sleeps until woken (true) or the deadline (false).
  bool wait_until(std::chrono::steady_clock::time_point deadline) const;

 private:
  int fd_;
};

/// Who runs a process, and who holds its lanes: what instances share the lanes by.
struct Roster {
  struct Lane {
    std::string holder;  ///< as the cursor row names it; empty: nobody, or no row yet
    bool free = true;    ///< as far as can be seen a claim would be granted to anyone
  };
  std::vector<std::string> instances;  ///< that run it now, with as many lanes as ours
  std::vector<Lane> lanes;             ///< by number
  bool cut_otherwise = false;          ///< the cursors were cut into another number of lanes
};

/// One instance's connection to the others that run the same process.
///
/// Threads and errors as for Store.
class RosterSession {
 public:
  RosterSession() = default;
  RosterSession(const RosterSession&) = delete;
  RosterSession& operator=(const RosterSession&) = delete;
  virtual ~RosterSession() = default;

  /// `tell`: tells the others too that this instance runs. One that has not told for three seconds
  /// or whose connection is gone counts no longer.
  virtual Roster look(bool tell) = 0;
  /// Tells the others that it runs no longer.
  virtual void leave() = 0;
};

/// One instance's look at what stands behind the cursors of a process, next to delivery.
///
/// Threads and errors as for Store. What it throws never stops a lane.
class AuditorSession {
 public:
  using Time = std::chrono::steady_clock::time_point;

  AuditorSession() = default;
  AuditorSession(const AuditorSession&) = delete;
  AuditorSession& operator=(const AuditorSession&) = delete;
  virtual ~AuditorSession() = default;

  /// One turn, of limited length, over the lanes that this instance holds. Halts a lane that has
  /// rows behind its cursor which were never delivered. Answers when the next turn is due.
  virtual Time look() = 0;
  /// Everything at once, for a drain: of all lanes that this instance or nobody holds, or only of
  /// `lane`. Returns when all was looked at and what was found has halted its lane, or if
  /// `interrupted`.
  virtual void look_through(const std::function<bool()>& interrupted,
                            std::optional<unsigned> lane = std::nullopt) = 0;
  /// Ends a look that is in hand, which throws then, and all to come. From any thread.
  virtual void interrupt() noexcept = 0;
  /// Sleep until a turn is due, a hint may have made one due, or a wake.
  virtual void wait_until(Time due) = 0;
};

/// Where records come from and cursors are kept.
class Source {
 public:
  virtual ~Source() = default;
  /// What one lane works with. The two may share a connection; each is destroyed on its own.
  struct Lane {
    std::unique_ptr<Store> store;
    std::unique_ptr<Reader> reader;
  };
  /// A new connection for one lane. `holder` names this relay instance, unique per run.
  /// Throws SessionLost if there is none to be had. `waker` outlives both parts.
  virtual Lane open(const LaneId& lane, const ProcessConfig& config, const std::string& holder,
                    Waker& waker) = 0;
  /// A new connection for sharing the lanes of a process; null where instances cannot see each
  /// other: then each stands by for every lane. Throws as `open` does.
  virtual std::unique_ptr<RosterSession> open_roster(const ProcessConfig& /*config*/,
                                                     const std::string& /*holder*/) {
    return nullptr;
  }
  /// A new connection for the audit of a process; null if nothing can appear behind a cursor.
  /// Throws as `open` does. `waker` outlives the session.
  virtual std::unique_ptr<AuditorSession> open_auditor(const ProcessConfig& /*config*/,
                                                       const std::string& /*holder*/,
                                                       Waker& /*waker*/) {
    return nullptr;
  }
};

}  // namespace seriatim

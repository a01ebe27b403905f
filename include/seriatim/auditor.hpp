#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace seriatim {

/// One instance's check of what is behind the cursors of a process, next to delivery.
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
  virtual Time check() = 0;
  /// Everything at once, for a drain: of all lanes that this instance or nobody holds, or only of
  /// `lane`. Returns when all was checked and what was found has halted its lane, or if
  /// `interrupted`.
  virtual void check_all(const std::function<bool()>& interrupted,
                         std::optional<unsigned> lane = std::nullopt) = 0;
  /// Ends a check in progress, which throws then, and all to come. From any thread.
  virtual void interrupt() noexcept = 0;
  /// Sleep until a turn is due, a hint may have made one due, or a wake.
  virtual void wait_until(Time due) = 0;
};

}  // namespace seriatim

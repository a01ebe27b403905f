#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "seriatim/error.hpp"
#include "seriatim/outcome.hpp"
#include "seriatim/position.hpp"

namespace seriatim {

/// `standby → claiming → running ⇄ (idle | fenced | retrying) → halted | paused`
enum class LaneState {
  standby,
  claiming,
  running,
  idle,
  fenced,
  retrying,
  halted,
  paused,
  stopped
};

[[nodiscard]] const char* to_string(LaneState state);

/// A transaction that holds the fence: what a person needs to find and end it.
struct Blocker {
  int pid = 0;              ///< 0 for a prepared transaction
  std::string gid;          ///< the prepared transaction's name, else empty
  std::string application;  ///< application_name
  std::string user;
  std::string state;  ///< "idle in transaction", "active", "prepared"; empty if not visible
  std::chrono::milliseconds age{0};  ///< since its transaction began (prepared: since PREPARE)
  /// Since its current statement began, or the latest one if it is idle; 0 if not visible.
  /// The text of a statement is never read: it may hold secrets.
  std::chrono::milliseconds statement_age{0};
  /// A session of seriatim itself (self-block): its application_name begins with "seriatim/", as
  /// that of every session of a relay does. A handler that opens connections of its own may name
  /// them so too.
  bool ours = false;

  friend bool operator==(const Blocker&, const Blocker&) = default;
};

/// One lane as it is now, for logs, status and metrics. Durations are those at the time of the
/// report.
struct LaneStatus {
  std::string process;
  unsigned lane = 0;
  LaneState state = LaneState::standby;
  std::optional<Position> position;  ///< last row delivered or set aside
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  std::size_t in_flight = 0;                ///< calls, if there may be several
  unsigned attempts = 0;                    ///< started for the row after `position`
  std::optional<HaltReason> reason;         ///< when halted
  std::string detail;                       ///< what holds it, in words; safe to log
  std::optional<std::string> row_id;        ///< the row it waits or is halted at, if one is known
  std::chrono::milliseconds retry_in{0};    ///< when retrying
  std::chrono::milliseconds fenced_for{0};  ///< when fenced: for how long nothing could go out
  unsigned parked = 0;                      ///< rows of the process that failed and are set aside
  std::vector<Blocker> blockers;  ///< when fenced: who holds the row, oldest transaction first
};

/// Is notified of what lanes do, on the lanes' own threads: be quick, be thread-safe. What it
/// throws is swallowed: an observer can never cost a row.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The state, its reason or what holds it has changed; a long wait is reported again as it grows
  /// (1 s, 10 s, 100 s, …).
  virtual void lane_changed(const LaneStatus&) {}
  /// `rows` were delivered and their cursor is committed.
  virtual void delivered(const LaneStatus&, std::size_t /*rows*/) {}
  /// A failed row was set aside (`on_poison`), and why.
  virtual void parked(const LaneStatus&, const std::string& /*row_id*/,
                      const std::string& /*detail*/) {}
  /// A row failed for now, and its key is held (`on_retry`); the row is tried again after this.
  virtual void held(const LaneStatus&, const std::string& /*row_id*/, const std::string& /*detail*/,
                    std::chrono::milliseconds /*retry_in*/) {}
  /// A call took this long and ended so.
  virtual void called(const LaneStatus&, Outcome::Kind, std::chrono::nanoseconds) {}
  /// The audit of a process has lost its connection, or cannot do its work, and tries again; said
  /// once until it works again. Delivery goes on.
  virtual void audit_failed(const std::string& /*process*/, const std::string& /*why*/) {}
};

}  // namespace seriatim

#pragma once

#include <map>
#include <optional>

#include "postgres/admin/reports/lane_wait.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"

namespace seriatim::postgres {

/// What the server shows of one lane's holder.
struct LaneSession {
  bool open = false;               ///< its session is there
  std::string state;               ///< "active", "idle", …; empty: hidden from this role
  std::string wait_type;           ///< as pg_stat_activity.wait_event_type
  std::string wait_event;          ///< … and wait_event
  milliseconds in_state{0};        ///< active: its statement takes so long; else since the last one
  bool in_call = false;            ///< a call is announced
  milliseconds called{0};          ///< … so long ago
  milliseconds heard{0};           ///< since it renewed its lease
  bool auditing = false;           ///< the process's auditor is at work
  std::vector<Blocker> lockers{};  ///< of the cursor row, other than its holder
  std::vector<Blocker> queue{};    ///< who blocks its statement, first in the queue first
  std::string relations{};         ///< … and the lock of which tables it waits for
};

/// By lane. Reads what the server shows of sessions, and waits for no lock of the outbox.
[[nodiscard]] std::map<unsigned, LaneSession> read_sessions(Connection& connection,
                                                            const std::string& process);

/// A wait is named once it has lasted this long: what ends sooner needs no person.
inline constexpr milliseconds named_after{1'000};

/// What the lane waits for, if it is more than the next row.
[[nodiscard]] std::optional<LaneWait> wait_of(const LaneRow& lane, const LaneSession& session,
                                              const ProcessConfig& config);

}  // namespace seriatim::postgres

#pragma once

#include <optional>

#include "app/reports.hpp"

namespace seriatim::app {

/// Why a lane does not go on although rows may wait for it. The worst first: pages, `top` and the
/// verdict put lanes into this order.
enum class Stall {
  halted,
  unheld,  ///< no relay holds it
  unread,  ///< its table or its next row cannot be read
  fenced,  ///< for a second at least
  retrying,
  waits,      ///< for a lock, a standby, the disk, …: LaneWait
  long_call,  ///< its handler has been at a row for ten seconds at least
  barrier,    ///< it has reached the barrier of a re-partitioning
  paused,
};
/// Absent: it moves, or has nothing to do.
[[nodiscard]] std::optional<Stall> stall_of(const postgres::LaneReport& report);

/// "halted", "nobody holds it", …: as people read it.
[[nodiscard]] const char* to_string(Stall stall);

/// A lane that delivers nothing. One that is in a long call does, and one that cannot be read may.
[[nodiscard]] bool is_stopped(const postgres::LaneReport& report);

}  // namespace seriatim::app

#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "seriatim/observer.hpp"

namespace seriatim::postgres {

/// What a lane waits for at this moment, other than rows, the fence and its own back-off (promise
/// P8): found by what its holder's session does at the server, by what the lane announced, and by
/// an attempt to write if rows wait and nobody can be seen at work.
struct LaneWait {
  enum class Cause {
    cursor_locked,  ///< somebody else's transaction has the lane's cursor row locked
    lock,           ///< its statement waits for a lock
    standby,        ///< its COMMIT waits for a synchronous standby
    statement,      ///< its statement takes long
    handler,        ///< its handler has not answered yet
    silent,         ///< its holder's session is open, and the program says nothing
    disk_full       ///< the server has no room left to write to
  };
  Cause cause = Cause::handler;
  std::chrono::milliseconds lasted{0};
  std::string text;    ///< "its COMMIT waits for …"; names no contents of a row
  std::string remedy;  ///< what ends the wait, or why waiting is right
  /// Who holds the lock, first in the queue first.
  std::vector<Blocker> blockers;

  friend bool operator==(const LaneWait&, const LaneWait&) = default;
};

/// "cursor_locked", "lock", …
[[nodiscard]] const char* to_string(LaneWait::Cause cause);

/// "pid 4711 psql, idle in transaction, 12 s old" or "prepared transaction 'x', 12 s old".
[[nodiscard]] std::string words(const Blocker& blocker);

}  // namespace seriatim::postgres

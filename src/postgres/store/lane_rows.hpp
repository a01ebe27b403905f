#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/store/cursor_memory.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// The cursor row of a lane as an operator sees it.
struct LaneRow {
  LaneId id;
  Cursor cursor;
  std::string holder;
  bool holder_alive = false;
  bool in_call = false;        ///< a call is announced and not settled
  milliseconds called_for{0};  ///< … for this long
  bool backend_gone = false;   ///< of the holder
  bool lease_over = false;     ///< by the server's clock
  CursorMemory::Lease lease;
  std::string updated_at;                 ///< ISO 8601 UTC
  bool gone = false;                      ///< there is no row, though the process has begun
  std::optional<std::string> renamed_to;  ///< the process has another name now: `cursor.detail`
};

/// In order of lanes; empty where the process never ran.
[[nodiscard]] std::vector<LaneRow> read_lanes(Connection& connection, const std::string& process);

/// Error if the process was renamed: nothing is reported or done under the old name.
void refuse_retired(const std::vector<LaneRow>& lanes);

/// The same in a new transaction that keeps them, or only `lane`, locked, once no call is in
/// flight. Until then no further call is announced, for `who` asks for a turn. SessionLost (55P03)
/// if a call takes longer than the connection's lock_timeout.
[[nodiscard]] std::vector<LaneRow> lock_in_turn(Connection& connection, const std::string& process,
                                                const std::string& who,
                                                std::optional<unsigned> lane = std::nullopt);

/// The same for an operator's act on all lanes. Error if a call takes too long, or if the process
/// is not known or was renamed.
[[nodiscard]] std::vector<LaneRow> lock_lanes(Connection& connection, const std::string& process);

}  // namespace seriatim::postgres

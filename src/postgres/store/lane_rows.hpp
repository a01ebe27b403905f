#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// The cursor row of a lane as an operator sees it.
struct LaneRow {
  LaneId id;
  Cursor cursor;
  std::string holder;
  bool holder_alive = false;
  std::string updated_at;                 ///< ISO 8601 UTC
  bool gone = false;                      ///< there is no row, though the process has begun
  std::optional<std::string> renamed_to;  ///< the process has another name now: `cursor.detail`
};

/// In order of lanes; empty where the process never ran.
[[nodiscard]] std::vector<LaneRow> read_lanes(Connection& connection, const std::string& process);

/// Error if the process was renamed: nothing is reported or done under the old name.
void refuse_retired(const std::vector<LaneRow>& lanes);

/// The same in a new transaction that keeps them, or only `lane`, locked, when the holder has its
/// turn: what it delivered is committed. SessionLost (55P03) after the connection's lock_timeout.
[[nodiscard]] std::vector<LaneRow> lock_in_turn(Connection& connection, const std::string& process,
                                                std::optional<unsigned> lane = std::nullopt);

/// The same for an operator's act on all lanes. Waits for calls in hand up to the
/// connection's lock_timeout; Error when one takes longer, or when the process is not known
/// or was renamed.
[[nodiscard]] std::vector<LaneRow> lock_lanes(Connection& connection, const std::string& process);

}  // namespace seriatim::postgres

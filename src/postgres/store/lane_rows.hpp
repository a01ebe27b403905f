#pragma once

#include <cstdint>
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
  std::uint64_t redriven = 0;  ///< of the numbers up to the cursor's, how many went to parked rows
  CursorMemory::Lease lease;
  std::string identity;                   ///< of what the cursor is kept for: a JSON object
  std::string created_at;                 ///< as the server writes it
  std::string updated_at;                 ///< ISO 8601 UTC
  bool gone = false;                      ///< there is no row, though the process has begun
  std::optional<std::string> renamed_to;  ///< the process has another name now: `cursor.detail`
};

/// In order of lanes; empty where the process never ran.
[[nodiscard]] std::vector<LaneRow> read_lanes(Connection& connection, const std::string& process);

/// Error if the process was renamed: nothing is reported or done under the old name.
void refuse_retired(const std::vector<LaneRow>& lanes);

/// Error: the process is not known in this database, and which ones are.
[[noreturn]] void refuse_unknown(Connection& connection, const std::string& process);

}  // namespace seriatim::postgres

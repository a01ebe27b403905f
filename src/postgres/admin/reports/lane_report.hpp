#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/admin/reports/report_fence.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// What a report leaves to the next one of the same process on the same connection.
struct ReportMemory {
  using Clock = std::chrono::steady_clock;
  /// For so long the names and types of a table are not asked for again, unless a report fails.
  static constexpr std::chrono::minutes table_max{5};

  KnownWriters writers;
  std::optional<Table> table = std::nullopt;
  Clock::time_point table_until{};
};

/// One report a lane, in order; lanes that never ran included.
[[nodiscard]] std::vector<LaneReport> report_lanes(Connection& connection, const Target& target,
                                                   ReportMemory& memory);

/// The cursor rows of a process, and what represents them in lanes that never ran; in order.
[[nodiscard]] std::vector<LaneRow> all_lanes(Connection& connection, const Target& target);

[[nodiscard]] LaneReport report_lane(Connection& connection, const Target& target,
                                     const Table& table, const LaneRow& row);

/// The same without what the table says.
[[nodiscard]] std::vector<LaneReport> report_cursors(Connection& connection, const Target& target);

/// A statement of a report has waited long enough: its table is locked, or the server is slow. What
/// can be said without it is still to be said.
[[nodiscard]] bool is_held_up(const SessionLost& lost);
[[nodiscard]] std::string held_up_text(const SessionLost& lost);

/// Reports wait this long for a lock, and for a statement: nobody waits for them.
inline constexpr milliseconds report_lock_max{1'000};
inline constexpr milliseconds report_statement_max{4'000};

[[nodiscard]] Peeked peek_rows(Connection& connection, const Target& target, unsigned lane,
                               unsigned rows_max);

}  // namespace seriatim::postgres

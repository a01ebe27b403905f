#pragma once

#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// One report a lane, in order; lanes that never ran included.
[[nodiscard]] std::vector<LaneReport> report_lanes(Connection& connection, const Target& target);

/// The cursor rows of a process, and what stands for them in lanes that never ran; in order.
[[nodiscard]] std::vector<LaneRow> all_lanes(Connection& connection, const Target& target);

[[nodiscard]] LaneReport report_lane(Connection& connection, const Target& target,
                                     const Table& table, const LaneRow& row);

[[nodiscard]] Peeked peek_rows(Connection& connection, const Target& target, unsigned lane,
                               unsigned rows_max);

}  // namespace seriatim::postgres

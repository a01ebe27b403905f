#pragma once

#include <vector>

#include "postgres/admin.hpp"
#include "postgres/connection.hpp"

namespace seriatim::postgres {

/// One report a lane, in order; lanes that never ran included.
[[nodiscard]] std::vector<LaneReport> report_lanes(Connection& connection, const Target& target);

[[nodiscard]] std::vector<PeekedRow> peek_rows(Connection& connection, const Target& target,
                                               unsigned lane, unsigned rows_max);

}  // namespace seriatim::postgres

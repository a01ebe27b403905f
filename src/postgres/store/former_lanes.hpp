#pragma once

#include <vector>

#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// The lanes of before a process was cut as `lane` is, of which the ledger has buckets.
[[nodiscard]] std::vector<LaneId> former_lanes(Connection& connection, const LaneId& lane);

/// The table with only those rows that are now of this lane, for buckets of a former one.
[[nodiscard]] Table rows_of(const Table& table, const LaneId& lane);

}  // namespace seriatim::postgres

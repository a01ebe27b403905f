#pragma once

#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Says so of lanes with rows at which nobody is seen at work, if the server has no room left to
/// write to. If there are such lanes, it tries to write a temporary file; else it asks nothing.
void name_full_disk(Connection& connection, std::vector<LaneReport>& reports);

}  // namespace seriatim::postgres

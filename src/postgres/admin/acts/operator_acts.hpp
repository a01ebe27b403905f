#pragma once

#include <string>

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Each is one transaction under the cursor rows' locks, journalled.
ActResult pause_lanes(Connection& connection, const Target& target, const Actor& actor);
ActResult resume_lanes(Connection& connection, const Target& target, const Actor& actor);
ActResult retry_lanes(Connection& connection, const Target& target, const Actor& actor);
ActResult skip_row(Connection& connection, const Target& target, const std::string& id,
                   const Actor& actor);

}  // namespace seriatim::postgres

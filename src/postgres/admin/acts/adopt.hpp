#pragma once

#include <string>

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

// Operator acts on what a cursor is kept for. Each is one transaction, journalled with old and new.

/// Notes what is seen now for every lane that was kept for something else; lanes that halted over
/// it go on. For a process without a cursor: says that it is a new one, not one renamed.
ActResult adopt_source(Connection& connection, const Target& target, const Actor& actor);

/// Gives the process, which must have no cursor yet, the cursor of `from`, which nobody may hold
/// and whose name is retired. A process whose own name was retired for `from` gets its cursor back.
ActResult take_over(Connection& connection, const Target& target, const std::string& from,
                    const Actor& actor);

}  // namespace seriatim::postgres

#pragma once

#include "postgres/admin/acts/act.hpp"
#include "postgres/table/target.hpp"

namespace seriatim::postgres {

// Operator acts on what a cursor is kept for.

/// Notes what is seen now for every lane that was kept for something else; lanes that halted over
/// it go on. For a process without a cursor: says that it is a new one, not one renamed.
ActResult adopt_source(Act& act, const Target& target, std::optional<OldRows> old_rows);

/// Gives the process, which must have no cursor yet, the cursor of the act's process, which nobody
/// may hold and whose name is retired. A process whose own name was retired for that one gets its
/// cursor back.
ActResult take_over(Act& act, const Target& target);

}  // namespace seriatim::postgres

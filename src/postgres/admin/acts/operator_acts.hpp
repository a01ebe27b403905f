#pragma once

#include <string>

#include "postgres/admin/acts/act.hpp"
#include "postgres/table/target.hpp"

namespace seriatim::postgres {

ActResult pause_lanes(Act& act);
ActResult resume_lanes(Act& act);
ActResult retry_lanes(Act& act);
ActResult skip_row(Act& act, const Target& target, const std::string& id);

}  // namespace seriatim::postgres

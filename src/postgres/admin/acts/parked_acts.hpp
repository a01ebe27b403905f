#pragma once

#include "postgres/admin/acts/act.hpp"

namespace seriatim::postgres {

/// What an act on parked rows would do now. Changes nothing.
[[nodiscard]] ParkedPlan plan_parked(Connection& connection, const std::string& process,
                                     const ParkedChoice& choice, ParkedAct act);
ActResult redrive_parked(Act& act, const ParkedChoice& choice);
ActResult discard_parked(Act& act, const ParkedChoice& choice);

}  // namespace seriatim::postgres

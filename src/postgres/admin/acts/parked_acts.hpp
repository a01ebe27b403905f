#pragma once

#include "postgres/admin/acts/act.hpp"

namespace seriatim::postgres {

ActResult redrive_parked(Act& act, const ParkedChoice& choice);
ActResult discard_parked(Act& act, const ParkedChoice& choice);

}  // namespace seriatim::postgres

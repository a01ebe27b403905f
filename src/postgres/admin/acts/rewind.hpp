#pragma once

#include <vector>

#include "postgres/admin/acts/act.hpp"
#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// What a rewind would do to each lane; changes nothing.
[[nodiscard]] std::vector<RewindStep> plan_rewind(Connection& connection, const Target& target,
                                                  const RewindPlace& place);

/// Forwards it first waits until no open transaction can still commit a row that would be jumped
/// unseen. `approve` gets the steps in the act's turn: no lane moves any more.
std::vector<RewindStep> rewind_lanes(Act& act, const Target& target, const RewindPlace& place,
                                     milliseconds settle_max, const ApproveRewind& approve);

}  // namespace seriatim::postgres

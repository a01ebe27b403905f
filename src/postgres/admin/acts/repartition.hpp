#pragma once

#include <functional>
#include <string>

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Cuts a process into another number of lanes (FAULTS 46). A key may change its lane, so no lane
/// may run ahead of another at the change: first a barrier is set at the furthest place any lane
/// has reached or tried; when every lane has delivered all of its rows up to it, the cursor rows
/// are exchanged in one transaction, and every new lane goes on behind the barrier.
///
/// `act_waits`: while one of its acts waits for a turn.
/// `keep_waiting` learns what is still to be delivered, some times a second. If it answers
/// false, or the connection is lost, nothing has changed but that the barrier may remain: called
/// again, it is set anew, and with the number of lanes there are it is taken away.
ActResult recut_lanes(Connection& connection, const Target& target, unsigned lanes,
                      const Actor& actor, const KeepWaiting& act_waits,
                      const KeepWaiting& keep_waiting);

}  // namespace seriatim::postgres

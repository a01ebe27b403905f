#pragma once

#include <functional>
#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Recounts everything behind the cursors of a process against its ledger, in one snapshot.
/// `progress` gets the number of rows recounted so far, now and then.
[[nodiscard]] std::vector<LaneAudit> audit_lanes(
    Connection& connection, const Target& target, bool every_bucket,
    const std::function<void(std::uint64_t)>& progress);

/// See Admin::note_audit.
void note_audit(Connection& connection, const std::string& process,
                const std::vector<LaneAudit>& lanes, const std::string& who,
                const std::string& detail);

}  // namespace seriatim::postgres

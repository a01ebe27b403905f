#pragma once

#include <memory>
#include <string>

#include "postgres/store/cursor_memory.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Opens a connection of its own. Table seriatim.instance and the cursors' rows say the rest. What
/// it sees of the leases goes into `memory`, so that lanes need not wait for them anew.
[[nodiscard]] std::unique_ptr<MembershipSession> open_membership(
    const std::string& url, const ProcessConfig& config, const std::string& holder,
    std::shared_ptr<CursorMemory> memory);

}  // namespace seriatim::postgres

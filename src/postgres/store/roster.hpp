#pragma once

#include <memory>
#include <string>

#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Opens a connection of its own. Table seriatim.instance and the cursors' rows tell the rest.
[[nodiscard]] std::unique_ptr<RosterSession> open_roster(const std::string& url,
                                                         const ProcessConfig& config,
                                                         const std::string& holder);

}  // namespace seriatim::postgres

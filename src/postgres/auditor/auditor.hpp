#pragma once

#include <memory>
#include <string>

#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Opens a connection of its own. `holder`: the relay instance whose lanes are checked.
[[nodiscard]] std::unique_ptr<AuditorSession> open_auditor(const std::string& url,
                                                           const ProcessConfig& config,
                                                           const SourceConfig& source,
                                                           const std::string& holder, Waker& waker);

}  // namespace seriatim::postgres

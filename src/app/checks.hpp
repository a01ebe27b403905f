#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/config_file.hpp"
#include "app/reports.hpp"

namespace seriatim::app {

/// What `seriatim check` finds, by process.
[[nodiscard]] std::vector<std::pair<std::string, Findings>> findings_of(
    const std::string& database_url, const std::vector<const ConfiguredProcess*>& processes,
    const std::vector<std::string>& names);

}  // namespace seriatim::app

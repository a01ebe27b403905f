#pragma once

#include <string>
#include <vector>

namespace seriatim::postgres {

/// The SQL `init` would run on an empty database, for a DBA to read and run.
[[nodiscard]] std::string schema_script();

/// Applies what is missing, under an advisory lock, one transaction a migration; answers the names
/// of what was applied (none: up to date). Refuses a schema newer than this program.
std::vector<std::string> migrate(const std::string& url);

/// 0: not installed.
[[nodiscard]] int schema_version(const std::string& url);

}  // namespace seriatim::postgres

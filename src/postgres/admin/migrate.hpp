#pragma once

#include <string>
#include <vector>

namespace seriatim::postgres {

/// The SQL `init` would run on an empty database, for a DBA to read and run.
[[nodiscard]] std::string schema_script();

/// Applies what is missing, under an advisory lock, one transaction a migration; answers the names
/// of what was applied (none: up to date). Refuses a schema newer than this program.
std::vector<std::string> migrate(const std::string& url);

/// Makes seriatim.outbox a partitioned table ("hourly", "daily" or "monthly"), or changes the step
/// of one; answers the partitions created. Error where it is in use. The script: the same for a
/// DBA.
std::vector<std::string> partition_outbox(const std::string& url, const std::string& step);
[[nodiscard]] std::string partition_script(const std::string& step);

/// 0: not installed.
[[nodiscard]] int schema_version(const std::string& url);

}  // namespace seriatim::postgres

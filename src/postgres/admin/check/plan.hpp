#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "postgres/table/target.hpp"

namespace seriatim::postgres {

/// What a configuration would do to the cursors of one process.
struct PlannedChange {
  enum class Kind {
    goes_on,        ///< nothing changes
    begins,         ///< it has no cursor: it begins as `start` says
    former_name,    ///< it has none, and a process that is configured no more has one on the table
    repartition,    ///< another number of lanes
    adopt,          ///< another table, database, order, key or payload
    old_rows,       ///< a new filter matches rows behind the cursor
    refused,        ///< it cannot go on with this configuration, and `adopt` does not help
    no_longer_runs  ///< it has a cursor, and no configuration: nobody delivers its rows
  };
  std::string process;
  Kind kind = Kind::goes_on;
  std::string what;
  std::string command{};  ///< to make the change, or empty
};

/// "goes_on", "begins", …
[[nodiscard]] const char* to_string(PlannedChange::Kind kind);

/// Compares what is configured with the cursors in the database; changes nothing. `configured`: the
/// names of all processes of the file.
[[nodiscard]] std::vector<PlannedChange> plan_process(const std::string& url, const Target& target,
                                                      const std::vector<std::string>& configured);

/// Processes that have cursors and are not configured.
[[nodiscard]] std::vector<PlannedChange> plan_unconfigured(
    const std::string& url, const std::vector<std::string>& configured);

}  // namespace seriatim::postgres

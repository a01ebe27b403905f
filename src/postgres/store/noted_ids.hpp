#pragma once

#include <optional>
#include <string>
#include <vector>

namespace seriatim::postgres {

/// How a bucket of the ledger notes rows: consecutive integers as ranges, all others by their ids.
struct NotedIds {
  std::vector<std::string> listed;
  std::string ranges = "{}";  ///< an int8multirange
};

/// In the cheaper form: an integer without a neighbour is listed. `before`: the row noted before,
/// after which a range goes on.
[[nodiscard]] NotedIds noted_ids(const std::vector<std::string>& ids, bool integers,
                                 const std::optional<std::string>& before = std::nullopt);

/// Those of the ids that are integers, as an int8multirange.
[[nodiscard]] std::string ranges_of(const std::vector<std::string>& ids);

/// As PostgreSQL writes integers, and with a successor: what a range can hold.
[[nodiscard]] bool fits_range(const std::string& id);

}  // namespace seriatim::postgres

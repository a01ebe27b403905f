#pragma once

#include <cstdint>
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

/// Of an id as PostgreSQL writes integers, so that nothing is lost if the number is kept. The
/// greatest bigint has no successor, which the upper bound of its range would be: absent, too.
[[nodiscard]] std::optional<std::int64_t> integer_of(const std::string& id);

/// `integer_of` knows it: what a range can hold.
[[nodiscard]] bool fits_range(const std::string& id);

}  // namespace seriatim::postgres

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/position.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

// `where` or `ignore` was changed: rows that were left out may match now, behind the cursor. Nobody
// has delivered them, and they would halt the lane as late, one by one.

/// The former filter as SQL, if the server can still evaluate it; not in a transaction.
[[nodiscard]] std::optional<std::string> former_filter(Connection& connection, const Table& table,
                                                       const std::vector<IdentityChange>& changes);

/// Rows behind a lane's cursor that match and are neither accounted for nor aside, in order; at
/// most `rows_max`. Buckets of former lanes are searched too. A sealed bucket has no ids: its rows
/// are found by the former filter, if count and hash prove that it has accounted for none of them.
/// Else they are left out.
[[nodiscard]] std::vector<Position> find_old_rows(Connection& connection, const Table& table,
                                                  const LaneId& lane,
                                                  const std::optional<Position>& cursor,
                                                  const std::optional<std::string>& former,
                                                  std::size_t rows_max);

/// How many there are behind all cursors of a process.
[[nodiscard]] std::size_t count_old_rows(Connection& connection, const Table& table,
                                         const std::string& process,
                                         const std::vector<IdentityChange>& changes);

/// "1 row", "98 rows"
[[nodiscard]] std::string counted_rows(std::size_t rows);

/// What was changed, that the filter takes `rows` now, and which decision is wanted.
[[nodiscard]] std::string old_rows_text(const IdentityChange& filter, const std::string& process,
                                        const std::string& rows);

}  // namespace seriatim::postgres

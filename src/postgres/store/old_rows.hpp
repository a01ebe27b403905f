#pragma once

#include <cstddef>
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

/// Rows behind a lane's cursor that match and are neither accounted for nor aside, in order; at
/// most `rows_max`. Rows in sealed buckets cannot be told from delivered ones and are left out.
[[nodiscard]] std::vector<Position> find_old_rows(Connection& connection, const Table& table,
                                                  const LaneId& lane, std::size_t rows_max);

/// What was changed, that `rows` match now, and which decision is wanted.
[[nodiscard]] std::string old_rows_text(const IdentityChange& filter, const std::string& process,
                                        const std::string& rows);

}  // namespace seriatim::postgres

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postgres/admin/admin.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

// What operator acts are made of.

/// "lane 0"
[[nodiscard]] std::string lane_name(const LaneRow& lane);

/// As the journal keeps them; absent: not given.
[[nodiscard]] std::optional<std::string> stored_who(const Actor& actor);
[[nodiscard]] std::optional<std::string> stored_reason(const Actor& actor);

/// The compare-and-set: `statement` takes $1 process, $2 lane, $3 epoch, $4 and $5 position, $6
/// who, $7 why, then `more`. Error, and nothing changed, where the row is no longer as it was read.
pqxx::result change(Connection& connection, std::string_view statement, const LaneRow& lane,
                    const Actor& actor, const Params& more = {});

}  // namespace seriatim::postgres

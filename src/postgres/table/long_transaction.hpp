#pragma once

#include <optional>

#include "postgres/wire/connection.hpp"
#include "seriatim/observer.hpp"

namespace seriatim::postgres {

/// While a transaction is open for longer, late rows may go out after rows of transactions that
/// began once theirs had committed (late_rows = "deliver", docs/fence.md): the check that keeps
/// cause before effect is as wide as the transaction is old, and no longer comes with every poll.
inline constexpr milliseconds narrow_width_max{5'000};

/// The one that is open for longest, if it is for longer than that.
[[nodiscard]] std::optional<Blocker> find_long_transaction(Connection& connection);

}  // namespace seriatim::postgres

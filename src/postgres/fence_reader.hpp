#pragma once

#include <vector>

#include "core/fence.hpp"
#include "postgres/connection.hpp"
#include "postgres/table.hpp"
#include "seriatim/observer.hpp"

namespace seriatim::postgres {

/// Transactions that may still insert into a table: the same ones for the fence and for people.
struct LockHolders {
  std::vector<core::Holder> holders;
  std::vector<Blocker> blockers;  ///< oldest first
};

/// Reads pg_locks, a statement of its own between the reading of F and the reading of rows. Throws
/// SourceBroken when another table has taken the place of `table`.
[[nodiscard]] LockHolders read_lock_holders(Connection& connection, const Table& table);

}  // namespace seriatim::postgres

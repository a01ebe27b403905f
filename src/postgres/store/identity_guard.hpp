#pragma once

#include <optional>
#include <string>

#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// One session's watch over its lane: the cursor it was granted was kept for what it reads.
class IdentityGuard {
 public:
  IdentityGuard(Connection& connection, const Table& table, SourceConfig config, LaneId lane);

  /// After each granted claim. Notes the identity if none was noted, or if no row behind the cursor
  /// is concerned by the change.
  void compare(std::uint64_t epoch);
  /// Before rows are read. Throws SourceBroken if the last comparison found a difference, so that
  /// the lane, which is held by then, halts.
  void refuse_mismatch() const;

 private:
  std::optional<IdentityMismatch> judge();

  Connection& connection_;
  const Table& table_;
  SourceConfig config_;
  LaneId lane_;
  std::string seen_;  ///< empty before the first comparison
  std::optional<IdentityMismatch> mismatch_;
};

}  // namespace seriatim::postgres

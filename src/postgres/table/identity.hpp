#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/error.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Which cluster, timeline, database and table a session sees, and in which order it reads: JSON as
/// kept in `seriatim.cursor.identity`. What the server does not tell is left out.
[[nodiscard]] std::string read_identity(Connection& connection, const Table& table,
                                        const SourceConfig& config);

/// Random to each cluster; empty where the server or our role's rights keep it back.
[[nodiscard]] std::string read_system_identifier(Connection& connection);

/// Of one part of an identity: "timeline", "00000001", "00000002".
struct IdentityChange {
  std::string key;
  std::string noted;
  std::string seen;
};

/// Why a cursor must not be used for what is seen now.
struct IdentityMismatch {
  HaltReason reason = HaltReason::source_changed;
  std::string what;  ///< both values and what the change may mean
};

/// In what the cursors of a process, or that of one lane, were kept for something else.
[[nodiscard]] std::vector<IdentityChange> read_identity_changes(
    Connection& connection, const std::string& process, const std::string& identity,
    std::optional<unsigned> lane = std::nullopt);

/// The gravest change in words; nothing where nothing changed.
[[nodiscard]] std::optional<IdentityMismatch> judge_identity(
    const std::vector<IdentityChange>& changes);

/// One session's watch over its lane: the cursor it was granted was kept for what it reads.
class IdentityGuard {
 public:
  IdentityGuard(Connection& connection, const Table& table, SourceConfig config, LaneId lane);

  /// After each granted claim. Notes the identity where none was noted.
  void compare(std::uint64_t epoch);
  /// Before rows are read. Throws SourceBroken where the last comparison found a difference, so
  /// that the lane, which is held by then, halts.
  void refuse_mismatch() const;

 private:
  Connection& connection_;
  const Table& table_;
  SourceConfig config_;
  LaneId lane_;
  std::string seen_;  ///< empty before the first comparison
  std::optional<IdentityMismatch> mismatch_;
};

}  // namespace seriatim::postgres

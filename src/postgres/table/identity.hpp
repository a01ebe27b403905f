#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/error.hpp"

namespace seriatim::postgres {

/// Which cluster, timeline, database and table a session sees, in which order it reads, and what
/// the configuration makes of a row: JSON as kept in `seriatim.cursor.identity`. What the server
/// does not say is left out.
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
  std::string what;         ///< both values and what the change may mean
  bool confirmable = true;  ///< `adopt` may confirm it
};

/// In what the cursors of a process, or that of one lane, were kept for something else.
[[nodiscard]] std::vector<IdentityChange> read_identity_changes(
    Connection& connection, const std::string& process, const std::string& identity,
    std::optional<unsigned> lane = std::nullopt);

/// The gravest change in words, for a process of so many lanes; nothing if a relay may go on. Of a
/// filter only old_rows.hpp knows.
[[nodiscard]] std::optional<IdentityMismatch> judge_identity(
    const std::vector<IdentityChange>& changes, unsigned lanes);

/// The change of one part; nullptr: it is the same. "filter" is `where` and `ignore`.
[[nodiscard]] const IdentityChange* find_change(const std::vector<IdentityChange>& changes,
                                                std::string_view part);

}  // namespace seriatim::postgres

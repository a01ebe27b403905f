#pragma once

#include <optional>
#include <string>

#include "postgres/admin/check/findings.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// What one session saw of the locks of another.
struct ProbeFacts {
  std::string table;                  ///< the locks were on
  bool lock_seen = false;             ///< of a session that holds it
  std::optional<bool> prepared_seen;  ///< of a prepared transaction; absent: not tried
};

/// Has `other` lock `table` as an INSERT does, and checks it from `eye` with the fence's own
/// statement; if `prepare`, once more after PREPARE TRANSACTION, which is rolled back on every
/// path. `table` needs name and oid alone. Nothing where `table` is locked against writers.
[[nodiscard]] std::optional<ProbeFacts> probe_locks(Connection& eye, Connection& other,
                                                    const Table& table, bool prepare);

/// Rolls back prepared transactions that probes of this role left that long ago, killed in between.
void forget_leftover_probes(Connection& connection, std::chrono::minutes age);

void judge_probe(const ProbeFacts& facts, Findings& findings);

/// Does this server show what the fence rests on? On the table itself where our role may lock it,
/// else, and always for prepared transactions, on `seriatim.cursor`.
void check_fence(Connection& connection, const std::string& url, const Table& table,
                 Findings& findings);

}  // namespace seriatim::postgres

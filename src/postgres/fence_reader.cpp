#include "postgres/fence_reader.hpp"

#include "core/crash_point.hpp"
#include "seriatim_sql.hpp"

namespace seriatim::postgres {

namespace {

Blocker blocker_from(const pqxx::row& row) {
  Blocker blocker;
  blocker.pid = row["pid"].as<int>(0);
  blocker.gid = row["gid"].as<std::string>("");
  blocker.application = row["application_name"].as<std::string>("");
  blocker.user = row["usename"].as<std::string>("");
  blocker.state = row["state"].as<std::string>("");
  blocker.age = milliseconds{row["age_ms"].as<std::int64_t>(0)};
  blocker.statement_age = milliseconds{row["statement_age_ms"].as<std::int64_t>(0)};
  blocker.ours = blocker.application.rfind("seriatim/", 0) == 0;
  return blocker;
}

/// With its pid, because virtual transaction ids begin again when the server does, which a session
/// through a pooler may live through: an ordinary transaction must not pass for the prepared one,
/// or the dead one, that had its number.
std::string transaction_of(const pqxx::row& row) {
  const auto transaction = row["virtualtransaction"].as<std::string>();
  return row["pid"].is_null() ? transaction : transaction + '@' + row["pid"].c_str();
}

}  // namespace

LockHolders read_lock_holders(Connection& connection, const Table& table) {
  LockHolders found;
  core::crash_point("before", "locks");
  const auto rows = connection.run_prepared(sql::lock_holders, {table.name, table.oid});
  core::crash_point("after", "locks");
  for (const auto& row : rows) {
    if (!row["same_table"].as<bool>()) {
      throw SourceBroken(HaltReason::source_changed,
                         "table " + table.name + " was dropped, renamed or replaced");
    }
    if (row["policed"].as<bool>() != table.policed) {
      throw SourceBroken(HaltReason::source_changed,
                         "row-level security of table " + table.name + " was switched " +
                             (table.policed ? "off" : "on") + " for this role");
    }
    if (row["virtualtransaction"].is_null()) continue;
    found.holders.push_back({transaction_of(row), row["pid"].is_null()});
    found.blockers.push_back(blocker_from(row));
  }
  return found;
}

}  // namespace seriatim::postgres

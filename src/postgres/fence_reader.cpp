#include "postgres/fence_reader.hpp"

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
  blocker.ours = blocker.application.rfind("seriatim/", 0) == 0;
  return blocker;
}

}  // namespace

LockHolders read_lock_holders(Connection& connection, const Table& table) {
  LockHolders found;
  for (const auto& row : connection.run(sql::lock_holders, {table.name, table.oid})) {
    if (!row["same_table"].as<bool>()) {
      throw SourceBroken(HaltReason::source_changed,
                         "table " + table.name + " was dropped, renamed or replaced");
    }
    if (row["virtualtransaction"].is_null()) continue;
    found.holders.push_back({row["virtualtransaction"].as<std::string>(), row["pid"].is_null()});
    found.blockers.push_back(blocker_from(row));
  }
  return found;
}

}  // namespace seriatim::postgres

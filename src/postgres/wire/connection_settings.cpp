// What a session is set to before its first statement, whatever the role's defaults are.
#include "postgres/wire/connection.hpp"
#include "postgres/wire/open_connection.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

/// Not ours to set: it takes a superuser.
[[noreturn]] void refuse_replication_role(const std::string& role) {
  throw SourceBroken(HaltReason::source_changed,
                     "session_replication_role is not origin in sessions of role " + role +
                         ": the triggers that keep the cursor and the ledger would not run; ALTER "
                         "ROLE " +
                         role + " RESET session_replication_role, or ALTER DATABASE … RESET");
}

}  // namespace

void Connection::apply_settings(const Options& options) {
  const auto ms = [](milliseconds m) { return std::to_string(m.count()); };
  const auto row = run_shielded(fill(
      sql::wire::session_settings, {{"backend_pid", std::to_string(connection_->backendpid())},
                                    {"application", quote_literal(options.application)},
                                    {"statement_timeout", ms(options.statement_timeout)},
                                    {"lock_timeout", ms(options.lock_timeout)},
                                    {"idle_timeout", ms(options.idle_in_transaction_timeout)}}))[0];
  if (row["replication_role"].as<std::string>("origin") != "origin") {
    refuse_replication_role(row["role"].c_str());
  }
  direct_ = row["direct"].as<bool>();
  if (direct_ && options.one_plan) run_script(sql::wire::one_plan);
  if (!direct_) {
    begin_ =
        fill(sql::wire::pooled_begin, {{"server_started", row["server_started"].c_str()},
                                       {"settings", row["locally"].c_str()},
                                       {"search_path", quote_literal(row["search_path"].c_str())}});
  }
}

/// A timeout of the role's may cut the first message off before it has switched that timeout off.
pqxx::result Connection::run_shielded(const std::string& message) {
  constexpr int tries = 10;
  for (int left = tries;; --left) {
    try {
      return run(message);
    } catch (const SessionLost& lost) {
      if (lost.sqlstate() != "57014" || left == 0) throw;
    }
  }
}

}  // namespace seriatim::postgres

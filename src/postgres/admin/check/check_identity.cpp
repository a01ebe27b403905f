// Were the cursors kept for this database, this table, this process?
#include "postgres/admin/check/check_table.hpp"
#include "postgres/store/old_rows.hpp"
#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/error.hpp"
#include "sql/check.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

std::optional<std::string> identity_of(TableCheck& check) {
  try {
    const auto& source = check.target.source;
    return read_identity(check.connection, resolve_table(check.connection, source), source);
  } catch (const Error&) {  // cannot be read at all: refused elsewhere, in more words
    return std::nullopt;
  }
}

void warn_unidentified(TableCheck& check) {
  if (!read_system_identifier(check.connection).empty()) return;
  check.findings.warn("role " + check.role +
                          " may not read the server's system identifier: a cursor restored on "
                          "another server is recognized by its timeline alone",
                      "GRANT EXECUTE ON FUNCTION pg_control_system() TO " + check.role);
}

/// Rows behind the cursors that match since the filter was changed.
void check_old_rows(TableCheck& check, const std::vector<IdentityChange>& changes) {
  const auto* filter = find_change(changes, "filter");
  if (filter == nullptr) return;
  const auto& process = check.target.process.name;
  const auto table = resolve_table(check.connection, check.target.source);
  const auto rows = count_old_rows(check.connection, table, process, changes);
  if (rows == 0) return;
  check.findings.refuse(
      to_string(HaltReason::config_changed) +
          (": " + old_rows_text(*filter, process, counted_rows(rows) + " behind the cursors")),
      "seriatim adopt " + shell_word(process) + " --source-changed --old-rows skip --reason TEXT" +
          "\nor, to deliver them late: --old-rows deliver");
}

void check_mismatch(TableCheck& check, const std::string& identity) {
  const auto& process = check.target.process.name;
  const auto changes = read_identity_changes(check.connection, process, identity);
  const auto mismatch = judge_identity(changes, check.target.process.lanes);
  if (!mismatch) return check_old_rows(check, changes);
  check.findings.refuse(mismatch->what + " (" + to_string(mismatch->reason) + ")",
                        mismatch->confirmable
                            ? "seriatim adopt " + shell_word(process) + ", if it was meant"
                            : "set the former key (docs/adopt.md says how to change it)");
}

/// A process without a cursor begins with the oldest row: wrong, if it only got another name.
void check_orphans(TableCheck& check, const std::vector<std::string>& configured) {
  const auto& process = check.target.process.name;
  if (!check.connection.run(sql::store::check_cursors, {process}).empty()) return;
  for (const auto& row :
       check.connection.run(sql::check::orphans, {check.oid, array_text(configured)})) {
    const std::string former = row["process_name"].c_str();
    check.findings.refuse(
        "process " + process + " has no cursor, and process " + former +
            ", which is not configured, has one on the same table, " +
            (row["position_id"].is_null() ? std::string("before the first row")
                                          : "at row " + row["position_id"].as<std::string>()) +
            ", last moved " + row["updated_at"].c_str() +
            ": if it was renamed, all rows would be sent once more (CONFIG_CHANGED)",
        "seriatim adopt " + shell_word(process) + " --from " + shell_word(former) +
            "\nor, where it is another process: seriatim adopt " + shell_word(process));
  }
}

}  // namespace

void check_identity(TableCheck& check, const CheckOptions& options) {
  warn_unidentified(check);
  if (!options.configured.empty()) check_orphans(check, options.configured);
  if (options.at_start) return;
  if (const auto identity = identity_of(check)) check_mismatch(check, *identity);
}

}  // namespace seriatim::postgres

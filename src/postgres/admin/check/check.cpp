#include "postgres/admin/check/check.hpp"

#include "postgres/admin/check/check_probe.hpp"
#include "postgres/admin/check/check_server.hpp"
#include "postgres/admin/check/check_table.hpp"
#include "postgres/admin/check/findings.hpp"
#include "postgres/store/start_place.hpp"
#include "postgres/wire/connection.hpp"
#include "sql/admin.hpp"
#include "sql/check.hpp"
#include "sql/migrations.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::chrono::minutes prepared_age_max{10};

/// Rows are delivered without these.
void check_rights_of_records(Connection& connection, Findings& findings) {
  for (const auto& row : connection.run(sql::check::rights_of_records)) {
    findings.warn("a right on " + row["name"].as<std::string>() +
                      " is missing: rows are delivered, but the history, alerts, audits or relays "
                      "that operators are shown have gaps",
                  row["statement"].c_str());
  }
}

/// True where the cursor rows can be read.
bool check_schema(Connection& connection, Findings& findings) {
  if (!connection.run(sql::admin::migration_table_exists)[0][0].as<bool>()) {
    findings.refuse("schema seriatim is not installed in this database", "seriatim init");
    return false;
  }
  const auto missing = connection.run(sql::check::rights);
  for (const auto& row : missing) {
    findings.refuse("a right is missing in schema seriatim", row["statement"].c_str());
  }
  if (!missing.empty()) return false;
  const auto version = connection.run(sql::admin::schema_version)[0][0].as<int>();
  constexpr int known = sql::migrations.back().version;
  if (version == known) {
    findings.ok("schema seriatim: version " + std::to_string(version));
    check_rights_of_records(connection, findings);
    return true;
  }
  findings.refuse("schema seriatim has version " + std::to_string(version) +
                      ", this program knows " + std::to_string(known),
                  version > known ? "use the newer seriatim" : "seriatim init");
  return false;
}

/// The probe needs names alone, of a table that can be locked at all.
void check_fence_of(TableCheck& check, const std::string& url) {
  if (check.findings.refused() || check.target.source.guard != Guard::fence) return;
  Table table;
  table.oid = check.oid;
  table.name = check.name;
  check_fence(check.connection, url, table, check.findings);
}

/// A table that others say cannot be read is not counted.
void check_start(TableCheck& check, const std::string& url) {
  if (check.findings.refused()) return;
  try {
    const auto text = first_rows_text(url, check.target);
    if (!text.empty()) check.findings.ok("cursor: none yet; the process " + text);
  } catch (const SourceBroken&) {
  } catch (const SessionLost&) {
    throw;
  } catch (const Error& no_place) {
    check.findings.refuse(no_place.what(), "start = \"beginning\", \"now\", a row's id or a time");
  }
}

}  // namespace

bool check_source(TableCheck& check) {
  if (!check_relation(check)) return false;
  check_id(check);
  check_created_at(check);
  check_indexes(check);
  return true;
}

std::vector<Finding> check(const std::string& url, const Target& target,
                           const CheckOptions& options) {
  Connection connection(url, {.application = "seriatim/check"});
  Findings findings;
  const auto server = read_server(connection);
  judge_server(server, target.source.guard, findings);
  judge_way(server, target.process, target.source.listen, findings);
  check_prepared_transactions(connection, prepared_age_max, findings);
  const bool schema = check_schema(connection, findings);
  TableCheck table{connection, target, findings, server.role};
  if (check_source(table)) {
    check_expressions(table);
    check_ties(table);
    if (schema) check_fence_of(table, url);
    if (schema) check_cursors(table);
    if (schema) check_start(table, url);
    if (schema) check_retention(table);
    if (schema) check_identity(table, options);
  }
  return findings.take();
}

std::string refusals(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) {
    if (finding.severity != Finding::Severity::refusal) continue;
    if (!text.empty()) text += '\n';
    text += finding.what;
    if (!finding.remedy.empty()) text += "; fix: " + finding.remedy;
  }
  return text;
}

}  // namespace seriatim::postgres

// Is it a table all of whose rows we see, and whose writers the fence sees?
#include "postgres/admin/check/check_table.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/error.hpp"
#include "sql/check.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

std::string kind_name(const std::string& kind) {
  if (kind == "v") return "a view";
  if (kind == "m") return "a materialized view";
  if (kind == "f") return "a foreign table";
  return "not a table (relkind " + kind + ")";
}

void check_kind(TableCheck& check, const std::string& name, const std::string& kind, bool is_root) {
  if (kind == "r" || kind == "p") return;
  if (kind == "f" && !is_root) {
    check.findings.refuse(name + " is a foreign table: its writers elsewhere are not seen here",
                          "ALTER TABLE " + check.name + " DETACH PARTITION " + name);
    return;
  }
  check.findings.refuse(name + " is " + kind_name(kind) + ": writers of its rows do not lock it",
                        "table = the table its rows are inserted into; expressions and `where` "
                        "can do what a view does");
}

void check_persistence(TableCheck& check, const std::string& name, const std::string& persistence) {
  if (persistence == "u") {
    check.findings.refuse(name + " is unlogged: a crash of the server empties it",
                          "ALTER TABLE " + name + " SET LOGGED");
  } else if (persistence == "t") {
    check.findings.refuse(name + " is temporary: only the session that made it sees its rows",
                          "an ordinary table");
  }
}

void check_policies(TableCheck& check, const pqxx::row& row) {
  if (!row["rows_hidden_by_policy"].as<bool>()) return;
  if (row["policies_let_all_through"].as<bool>()) {
    check.findings.ok("row-level security lets role " + check.role + " see every row");
    return;
  }
  check.findings.refuse(
      "row-level security hides rows of " + check.name + " from role " + check.role,
      "CREATE POLICY seriatim_reads_all ON " + check.name + " FOR SELECT TO " + check.role +
          " USING (true)\nor: ALTER ROLE " + check.role +
          " BYPASSRLS (needed where a restrictive policy exists)");
}

void check_inheritance(TableCheck& check, const pqxx::row& row) {
  if (row["child"].is_null()) return;
  check.findings.refuse(
      check.name + " has inheritance children: no index keeps ids unique across them",
      "ALTER TABLE " + std::string(row["child"].c_str()) + " NO INHERIT " + check.name +
          "\nand so for each child; or: a partitioned table");
}

bool find(TableCheck& check) {
  const auto& configured = check.target.source.table;
  try {
    const auto rows = check.connection.run(sql::table::table_identity, {configured});
    if (!rows.empty()) {
      check.oid = rows[0]["oid"].c_str();
      check.name = rows[0]["name"].c_str();
      for (const auto& row : check.connection.run(sql::table::table_columns, {check.oid})) {
        check.columns.emplace(row["name"].c_str());
      }
      return true;
    }
    check.findings.refuse("table " + configured + " does not exist in this database",
                          "create it, or correct `table` (schema.name, quoted as in SQL)");
  } catch (const SourceBroken& e) {
    check.findings.refuse("table " + configured + ": " + e.what(),
                          "GRANT USAGE ON SCHEMA … TO " + check.role + ", or correct `table`");
  }
  return false;
}

}  // namespace

bool check_relation(TableCheck& check) {
  if (!find(check)) return false;
  const auto rows = check.connection.run(
      fill(sql::check::relations,
           {{"policies_let_all_through", sql::table::policies_let_all_through}}),
      {check.oid});
  const auto& root = rows[0];
  check.partitioned = std::string(root["kind"].c_str()) == "p";
  check.partition_key = root["partition_key"].c_str();
  for (const auto& row : rows) {
    check_kind(check, row["name"].c_str(), row["kind"].c_str(), row["is_root"].as<bool>());
    check_persistence(check, row["name"].c_str(), row["persistence"].c_str());
  }
  check_inheritance(check, root);
  check_policies(check, root);
  if (!root["may_select"].as<bool>()) {
    check.findings.refuse("role " + check.role + " may not read " + check.name,
                          "GRANT SELECT ON " + check.name + " TO " + check.role);
    return false;
  }
  check.findings.ok("table: " + check.name +
                    (check.partitioned
                         ? ", partitioned, " + std::to_string(rows.size() - 1) + " partitions"
                         : ""));
  return true;
}

}  // namespace seriatim::postgres

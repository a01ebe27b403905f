// What the configuration puts into statements: does the server understand it?
#include <array>

#include "postgres/admin/check/check_table.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/error.hpp"
#include "sql/check.hpp"

namespace seriatim::postgres {

namespace {

/// One setting that is a column or an expression over a row.
struct Setting {
  const char* name;
  std::string SourceConfig::*configured;
  std::string Table::*resolved;
  std::string_view type;
};

constexpr std::array<Setting, 5> settings{{
    {"where", &SourceConfig::where, &Table::where, "boolean"},
    {"key", &SourceConfig::key, &Table::key, "text"},
    {"event_type", &SourceConfig::event_type, &Table::event_type, "text"},
    {"payload", &SourceConfig::payload, &Table::payload, "text"},
    {"headers", &SourceConfig::headers, &Table::headers, "jsonb"},
}};

/// A configuration in which only this setting can be wrong, resolved as the source resolves it.
Table resolve_alone(TableCheck& check, const Setting& setting) {
  const auto& source = check.target.source;
  SourceConfig alone;
  alone.table = source.table;
  alone.order_by = source.order_by;
  alone.id = source.id;
  alone.created_at = source.created_at;
  alone.*setting.configured = source.*setting.configured;
  return resolve_table(check.connection, alone);
}

/// False where the server refused it.
bool check_expression(TableCheck& check, const Setting& setting) {
  const auto& configured = check.target.source.*setting.configured;
  if (configured.empty()) return true;
  try {
    const auto table = resolve_alone(check, setting);
    check.connection.run(fill(sql::check::expression, {{"table", table.name},
                                                       {"expression", table.*setting.resolved},
                                                       {"type", setting.type}}),
                         {"0"});
    return true;
  } catch (const SourceBroken& e) {
    check.findings.refuse(std::string(setting.name) + " = \"" + configured + "\": " + e.what(),
                          "correct `" + std::string(setting.name) +
                              "`: a column, or an expression over one row, which it sees as t");
    return false;
  }
}

void check_delivered_at_column(TableCheck& check) {
  const auto& source = check.target.source;
  if (source.delivered_at_column.empty()) return;
  const auto column = read_column(check, source.delivered_at_column).front();
  if (!column.is_there) {
    check.findings.refuse(
        check.name + " has no column " + column.name + " to stamp",
        "ALTER TABLE " + check.name + " ADD COLUMN " + column.name +
            " timestamptz\nor: delivered_at_column = the name of the column to stamp");
  } else if (column.generated || column.type.rfind("timestamp", 0) != 0) {
    check.findings.refuse(column.full_name() + " cannot be stamped with the time: it is " +
                              (column.generated ? "generated" : "of type " + column.type),
                          "delivered_at_column = a column of type timestamptz");
  } else if (!column.may_update) {
    check.findings.refuse(
        "role " + check.role + " may not update " + column.full_name(),
        "GRANT UPDATE (" + column.name + ") ON " + check.name + " TO " + check.role);
  } else {
    check.findings.ok("delivered_at_column: " + column.full_name() +
                      " is stamped when a row is delivered");
  }
}

}  // namespace

void check_expressions(TableCheck& check) {
  bool sound = true;
  for (const auto& setting : settings) sound = check_expression(check, setting) && sound;
  if (sound) check.findings.ok("expressions: the server understands them");
  if (!check.target.source.where.empty()) {
    check.findings.ok(
        "hint: `where` is judged once, when the cursor passes a row; a row updated "
        "to match it afterwards is not delivered");
  }
  check_delivered_at_column(check);
}

}  // namespace seriatim::postgres

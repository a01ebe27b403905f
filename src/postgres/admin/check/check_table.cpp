#include "postgres/admin/check/check_table.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

std::vector<ColumnFacts> read_column(const TableCheck& check, const std::string& configured_name) {
  std::vector<ColumnFacts> columns;
  const auto name = check.column_name(configured_name);
  for (const auto& row : check.connection.run(sql::store::check_column, {check.oid, name})) {
    ColumnFacts facts;
    facts.relation = row["relation"].c_str();
    facts.name = row["column_name"].c_str();
    facts.is_there = row["is_there"].as<bool>();
    facts.type = row["type"].c_str();
    facts.modifier = row["modifier"].as<int>();
    facts.not_null = row["not_null"].as<bool>();
    facts.identity = row["identity"].as<bool>();
    facts.generated = row["generated"].as<bool>();
    facts.may_update = row["may_update"].as<bool>();
    facts.default_expression = row["default_expression"].c_str();
    columns.push_back(std::move(facts));
  }
  return columns;
}

bool refuse_missing(TableCheck& check, const ColumnFacts& column, const std::string& setting,
                    const std::string& definition) {
  if (column.is_there) return false;
  check.findings.refuse(check.name + " has no column " + column.name,
                        "ALTER TABLE " + check.name + " ADD COLUMN " + column.name + ' ' +
                            definition + "\nor: " + setting +
                            " = the name of the column that plays this part");
  return true;
}

void check_not_null(TableCheck& check, const ColumnFacts& column) {
  if (column.not_null) return;
  check.findings.refuse(column.full_name() + " may be NULL: such a row has no place in the order",
                        column.alter("SET NOT NULL"));
}

}  // namespace seriatim::postgres

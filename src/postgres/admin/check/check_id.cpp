// What draws ids: in id order the order rests on it.
#include "postgres/admin/check/check_table.hpp"
#include "sql/check.hpp"

namespace seriatim::postgres {

namespace {

bool is_integer(const std::string& type) {
  return type == "bigint" || type == "integer" || type == "smallint";
}

bool check_id_type(TableCheck& check, const ColumnFacts& id) {
  if (is_integer(id.type) || id.type == "uuid" || id.type == "text" ||
      id.type == "character varying") {
    return true;
  }
  check.findings.refuse(id.full_name() + " is of type " + id.type,
                        "id = a column of type bigint, integer, uuid or text");
  return false;
}

std::string switch_off(const ColumnFacts& id) {
  return "order_by = \"created_at\", or make " + id.name + " an identity column";
}

bool draws_from_sequence(const ColumnFacts& id) {
  const auto& expression = id.default_expression;
  const std::string_view end = "'::regclass)";
  return id.identity || (expression.rfind("nextval('", 0) == 0 && expression.size() > end.size() &&
                         expression.substr(expression.size() - end.size()) == end &&
                         expression.find('(', 8) == std::string::npos);
}

void check_sequence(TableCheck& check, const std::vector<ColumnFacts>& ids) {
  const auto& id = ids.front();
  const auto rows = check.connection.run(sql::check::sequence,
                                         {check.oid, check.column_name(check.target.source.id)});
  if (!is_integer(id.type) || rows.size() != 1 || !draws_from_sequence(id)) {
    check.findings.refuse(id.full_name() +
                              " is not drawn from a sequence, so ids do not follow "
                              "the order of insertion",
                          switch_off(id));
    return;
  }
  const auto& row = rows[0];
  const std::string name = row["name"].c_str();
  const auto refuse = [&](const std::string& what, const std::string& change) {
    check.findings.refuse(name + ' ' + what, "ALTER SEQUENCE " + name + ' ' + change);
  };
  if (row["cache"].as<std::int64_t>() != 1) {
    refuse("has CACHE " + std::string(row["cache"].c_str()) +
               ": sessions hold back ids and insert them late",
           "CACHE 1");
  }
  if (row["increment"].as<std::int64_t>() != 1) {
    refuse("has INCREMENT " + std::string(row["increment"].c_str()) + ", not 1", "INCREMENT BY 1");
  }
  if (row["cycles"].as<bool>()) refuse("has CYCLE: ids would start again below", "NO CYCLE");
  for (const auto& leaf : ids) {
    const bool inherits = leaf.default_expression.empty() || leaf.relation == id.relation ||
                          leaf.default_expression == id.default_expression;
    if (inherits && (leaf.identity == id.identity || !leaf.identity)) continue;
    check.findings.refuse(leaf.full_name() + " draws ids from elsewhere than " + check.name,
                          leaf.alter("DROP DEFAULT"));
  }
}

}  // namespace

bool id_order_is_possible(TableCheck& check) {
  const auto id = read_column(check, check.target.source.id).front();
  const auto rows = check.connection.run(sql::check::sequence,
                                         {check.oid, check.column_name(check.target.source.id)});
  return is_integer(id.type) && rows.size() == 1 && draws_from_sequence(id) &&
         rows[0]["cache"].as<int>() == 1 && rows[0]["increment"].as<int>() == 1 &&
         !rows[0]["cycles"].as<bool>();
}

void check_id(TableCheck& check) {
  const auto columns = read_column(check, check.target.source.id);
  const auto& id = columns.front();
  const std::string definition = "bigint GENERATED ALWAYS AS IDENTITY";
  if (refuse_missing(check, id, "id", check.partitioned ? definition : definition + " UNIQUE") ||
      !check_id_type(check, id)) {
    return;
  }
  check_not_null(check, id);
  if (check.target.source.order_by == OrderBy::id) check_sequence(check, columns);
}

}  // namespace seriatim::postgres

#include "postgres/table/table.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "postgres/wire/sql_text.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::array<std::string_view, 3> integer_types{"int2", "int4", "int8"};
constexpr std::array<std::string_view, 3> other_id_types{"uuid", "text", "varchar"};
constexpr pqxx::oid bytea_oid = 17;

bool is_one_of(const std::string& type, const std::array<std::string_view, 3>& types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// Name → type of a table's columns.
using Columns = std::map<std::string, std::string>;

Columns columns_of(Connection& connection, const std::string& oid) {
  Columns columns;
  for (const auto& row : connection.run(sql::table::table_columns, {oid})) {
    columns.emplace(row["name"].as<std::string>(), row["type"].as<std::string>());
  }
  return columns;
}

/// A column by its exact name, or by the name SQL would make of it.
Columns::const_iterator find_column(const Columns& columns, const std::string& text) {
  const auto exact = columns.find(text);
  return exact != columns.end() ? exact : columns.find(fold_identifier(text));
}

/// A column's name or an expression over t. The line break ends a comment the expression may end
/// with.
std::string expression(const Columns& columns, const std::string& text) {
  const auto column = find_column(columns, text);
  return column == columns.end() ? text + '\n' : "t." + quote_identifier(column->first);
}

[[noreturn]] void broken(const std::string& what) {
  throw SourceBroken(HaltReason::source_changed, what);
}

/// A policy that hides rows is no error to the server: they would be passed over.
void resolve_policies(Connection& connection, Table& table) {
  const auto rows =
      connection.run(fill(sql::table::table_policies,
                          {{"policies_let_all_through", sql::table::policies_let_all_through}}),
                     {table.oid});
  if (rows.empty()) broken("table " + table.name + " was dropped just now");
  const auto& row = rows[0];
  table.policed = row["policed"].as<bool>();
  if (!row["hides_rows"].as<bool>()) return;
  const auto role = row["role"].as<std::string>();
  broken("row-level security hides rows of " + table.name + " from role " + role +
         ": CREATE POLICY seriatim_reads_all ON " + table.name + " FOR SELECT TO " + role +
         " USING (true)");
}

Columns::const_iterator demand_column(const Columns& columns, const std::string& text,
                                      const Table& table, std::string_view setting) {
  const auto column = find_column(columns, text);
  if (column == columns.end()) {
    broken("table " + table.name + " has no column " + text + "; set `" + std::string(setting) +
           "` to the one it has");
  }
  return column;
}

void resolve_identity(Connection& connection, const SourceConfig& config, Table& table) {
  const auto found = connection.run(sql::table::table_identity, {config.table});
  if (found.empty()) {
    broken("there is no table " + config.table + ", or this role may not use its schema");
  }
  table.oid = found[0]["oid"].as<std::string>();
  table.name = found[0]["name"].as<std::string>();
  table.hinted = found[0]["hinted"].as<bool>();
  table.partitioned = found[0]["partitioned"].as<bool>();
}

void resolve_id(const Columns& columns, const SourceConfig& config, Table& table) {
  const auto& [name, type] = *demand_column(columns, config.id, table, "id");
  table.id_name = name;
  table.id = quote_identifier(name);
  table.id_type = type;
  table.by_id = config.order_by == OrderBy::id;
  if (config.order_by == OrderBy::id && !table.integer_id()) {
    broken("order_by = \"id\" needs an integer id drawn from a sequence; " + table.name + "." +
           table.id + " is " + type + ": use order_by = \"created_at\"");
  }
  if (!table.integer_id() && !is_one_of(type, other_id_types)) {
    broken(table.name + "." + table.id + " is " + type +
           "; an id must be smallint, integer, bigint, uuid, text or varchar");
  }
}

void resolve_created_at(const Columns& columns, const SourceConfig& config, Table& table) {
  const auto& [name, type] = *demand_column(columns, config.created_at, table, "created_at");
  table.created_at_name = name;
  table.created_at = quote_identifier(name);
  table.created_at_utc = "t." + table.created_at;
  if (type == "timestamptz") return;
  if (type == "timestamp" && config.order_by == OrderBy::id) {
    table.created_at_utc = "(t." + table.created_at + " AT TIME ZONE 'UTC')";
    return;
  }
  broken(table.name + "." + table.created_at + " is " + type +
         "; order_by = \"created_at\" needs timestamptz");
}

/// What the configuration names, else the column of that name, else `fallback`.
std::string optional_expression(const Columns& columns, const std::string& configured,
                                const std::string& column, const std::string& fallback) {
  if (!configured.empty()) return expression(columns, configured);
  return columns.contains(column) ? "t." + quote_identifier(column) : fallback;
}

void leave_out_ignored(const SourceConfig& config, Table& table) {
  if (config.ignore.empty()) return;
  if (table.event_type == "NULL") {
    broken("`ignore` names event types, and rows of " + table.name +
           " have none: set `event_type` to the column or expression that gives it");
  }
  table.where =
      fill(sql::table::where_not_ignored, {{"where", table.where},
                                           {"event_type", table.event_type},
                                           {"ignored", quote_literal(array_text(config.ignore))}});
}

void resolve_expressions(const Columns& columns, const SourceConfig& config, Table& table) {
  table.payload = optional_expression(columns, config.payload, "payload", "to_jsonb(t)");
  table.event_type = optional_expression(columns, config.event_type, "event_type", "NULL");
  table.headers = optional_expression(columns, config.headers, "headers", "NULL");
  if (!config.key.empty()) table.key = expression(columns, config.key);
  if (!config.where.empty()) table.where = expression(columns, config.where);
  leave_out_ignored(config, table);
  table.filtered = !config.where.empty() || !config.ignore.empty();
  if (config.delivered_at_column.empty()) return;
  table.delivered_at = quote_identifier(
      demand_column(columns, config.delivered_at_column, table, "delivered_at_column")->first);
}

}  // namespace

bool Table::integer_id() const {
  return is_one_of(id_type, integer_types);
}

Table resolve_table(Connection& connection, const SourceConfig& config) {
  Table table;
  resolve_identity(connection, config, table);
  resolve_policies(connection, table);
  const auto columns = columns_of(connection, table.oid);
  resolve_id(columns, config, table);
  resolve_created_at(columns, config, table);
  resolve_expressions(columns, config, table);
  const auto described = connection.run(statement_for(sql::table::describe_row, table, {}));
  table.payload_is_binary = described.column_type(0) == bytea_oid;
  return table;
}

namespace {

/// Whether a row's id is among noted ranges.
std::string_view in_ranges(const Table& table) {
  if (table.integer_id()) return sql::table::in_ranges;
  return table.id_type == "uuid" ? sql::table::in_no_range : sql::table::in_ranges_of_text;
}

/// "{place:AT,ID}" and "{lead:AT,ID}".
std::string with_places(std::string_view sql, bool by_id) {
  std::string out;
  for (;;) {
    const auto open = std::min(sql.find("{place:"), sql.find("{lead:"));
    out += sql.substr(0, open);
    if (open == std::string_view::npos) return out;
    const bool whole = sql.compare(open, 2, "{p") == 0;
    sql.remove_prefix(sql.find(':', open) + 1);
    const auto comma = sql.find(',');
    const std::string at(sql.substr(0, comma));
    sql.remove_prefix(comma + 1);
    const std::string id(sql.substr(0, sql.find('}')));
    sql.remove_prefix(id.size() + 1);
    if (by_id) {
      out += id + "::bigint";
    } else {
      out += at + "::timestamptz" + (whole ? ", " + id + "::{id_type}" : "");
    }
  }
}

}  // namespace

std::string lane_filter(const Table& table, const LaneId& lane) {
  if (lane.lanes <= 1) return "true";
  return fill(sql::table::lane_filter, {{"key", table.key},
                                        {"lanes", std::to_string(lane.lanes)},
                                        {"lane", std::to_string(lane.lane)}});
}

std::string statement_for(std::string_view sql, const Table& table, const LaneId& lane,
                          const Placeholders& more) {
  const auto filter = lane_filter(table, lane);
  const auto payload =
      fill(table.payload_is_binary ? sql::table::payload_hex : sql::table::payload_text,
           {{"raw_payload", table.payload}});
  const auto headers = table.headers == "NULL"
                           ? table.headers
                           : fill(sql::table::header_pairs, {{"raw_headers", table.headers}});
  const auto table_text = quote_literal(table.name);
  const auto id_text = quote_literal(table.id_name);
  const auto oid = quote_literal(table.oid);
  const auto id = "t." + table.id;
  const auto created_at = "t." + table.created_at;
  const auto place = table.by_id ? id : created_at + ", " + id;
  Placeholders values{{"table", table.name},
                      {"table_text", table_text},
                      {"id_text", id_text},
                      {"oid", oid},
                      {"policed", table.policed ? "true" : "false"},
                      {"id", table.id},
                      {"id_type", table.id_type},
                      {"created_at", table.created_at},
                      {"created_at_utc", table.created_at_utc},
                      {"by_id", table.by_id ? "true" : "false"},
                      {"place", place},
                      {"lead", table.by_id ? id : created_at},
                      {"lead_type", table.by_id ? "bigint" : "timestamptz"},
                      {"lead_min", table.by_id ? "-9223372036854775808" : "'-infinity'"},
                      {"key", table.key},
                      {"event_type", table.event_type},
                      {"raw_payload", table.payload},
                      {"payload_text", payload},
                      {"payload_is_binary", table.payload_is_binary ? "true" : "false"},
                      {"raw_headers", table.headers},
                      {"header_pairs", headers},
                      {"where", table.where},
                      {"delivered_at", table.delivered_at},
                      {"in_ranges", in_ranges(table)},
                      {"lane_filter", filter}};
  values.insert(values.end(), more.begin(), more.end());
  return fill(with_places(sql, table.by_id), values);
}

}  // namespace seriatim::postgres

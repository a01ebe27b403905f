// Does what the cursor rows say still fit the table and the configuration?
#include <charconv>

#include "postgres/admin/check/check_table.hpp"
#include "postgres/store/start_place.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/check.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

void check_lanes(TableCheck& check, const pqxx::result& cursors) {
  const auto& process = check.target.process;
  for (const auto& row : cursors) {
    if (row["lanes"].as<unsigned>() == process.lanes) continue;
    check.findings.refuse("process " + process.name + " has " + row["lanes"].c_str() +
                              " lanes by its cursor rows, " + std::to_string(process.lanes) +
                              " by the configuration: keys would change lanes",
                          "lanes = " + std::string(row["lanes"].c_str()));
    return;
  }
}

/// What the next id will exceed; empty where our role cannot know.
std::optional<std::int64_t> last_id_drawn(TableCheck& check, const pqxx::row& sequence) {
  if (sequence["may_read"].as<bool>()) return sequence["last_value"].as<std::int64_t>();
  const auto id = quote_identifier(check.column_name(check.target.source.id));
  const auto newest =
      check.connection.run(fill(sql::check::id_span, {{"table", check.name}, {"id", id}}))[0][0];
  if (newest.is_null()) return std::nullopt;
  return newest.as<std::int64_t>();
}

/// The cursor's id where it is a number, as it must be in id order.
std::optional<std::int64_t> number_at(TableCheck& check, const pqxx::row& cursor) {
  const std::string text = cursor["position_id"].c_str();
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc{} && end == text.data() + text.size()) return id;
  check.findings.refuse("the cursor is at id " + text +
                            ", which is no number: order_by was changed under this process",
                        "order_by = \"created_at\", or another name for the process");
  return std::nullopt;
}

void refuse_ahead(TableCheck& check, const pqxx::row& sequence, const std::string& lane,
                  std::int64_t cursor, std::int64_t last) {
  const auto at = std::to_string(cursor);
  const auto end = std::to_string(last);
  const std::string name = sequence["name"].c_str();
  std::string what = "lane " + lane + ": the cursor is at id " + at;
  if (sequence["may_read"].as<bool>()) {
    what += ", but " + name + " has only come to " + end;
    what += ": new rows would be passed over (CURSOR_AHEAD)";
    check.findings.refuse(what, "SELECT setval(" + quote_literal(name) + ", " + at + ")");
    return;
  }
  what += ", the newest row is " + end + ", and role " + check.role + " may not read " + name;
  what += " to distinguish deleted rows from a sequence set back";
  check.findings.refuse(what, "GRANT SELECT ON SEQUENCE " + name + " TO " + check.role);
}

void check_end_by_id(TableCheck& check, const pqxx::result& cursors) {
  const auto sequences = check.connection.run(
      sql::check::sequence, {check.oid, check.column_name(check.target.source.id)});
  if (sequences.size() != 1) return;
  const auto last = last_id_drawn(check, sequences[0]);
  for (const auto& row : cursors) {
    if (row["position_id"].is_null()) continue;
    const auto cursor = number_at(check, row);
    if (cursor && last && *cursor > *last) {
      refuse_ahead(check, sequences[0], row["lane"].c_str(), *cursor, *last);
    }
  }
}

void check_end_by_time(TableCheck& check, const pqxx::result& cursors) {
  for (const auto& row : cursors) {
    if (!row["is_in_the_future"].as<bool>(false)) continue;
    check.findings.refuse("lane " + std::string(row["lane"].c_str()) + ": the cursor is at " +
                              row["position_at"].c_str() +
                              ", later than the server's clock: new rows would be passed over "
                              "(CLOCK_BACK)",
                          "set the server's clock right, or wait until it has passed that moment");
  }
}

}  // namespace

void check_cursors(TableCheck& check) {
  const auto& process = check.target.process;
  const auto cursors = check.connection.run(sql::store::check_cursors, {process.name});
  if (!cursors.empty() && cursors[0]["retired"].as<bool>()) {
    check.findings.refuse(std::string(cursors[0]["detail"].c_str()) + " (CONFIG_CHANGED)", "");
    return;
  }
  check_lanes(check, cursors);
  if (check.target.source.order_by == OrderBy::id) {
    check_end_by_id(check, cursors);
  } else {
    check_end_by_time(check, cursors);
  }
  for (const auto& row : cursors) {
    check.findings.ok("cursor: lane " + std::string(row["lane"].c_str()) + " at " +
                      row["position_id"].as<std::string>("the table's start"));
  }
  if (!cursors.empty()) return;
  if (const auto known = why_not_new(check.connection, process.name); !known.empty()) {
    check.findings.refuse(known, "");
  }
}

}  // namespace seriatim::postgres

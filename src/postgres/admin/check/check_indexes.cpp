// No two rows at one position, and the next rows found without a scan.
#include <algorithm>
#include <array>
#include <cctype>

#include "postgres/admin/check/check_table.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/check.hpp"

namespace seriatim::postgres {

namespace {

/// From so many on, passing over the rows of other lanes costs more than an index of the lane does
/// (docs/indexes.md).
constexpr unsigned lanes_without_index_max = 31;

/// Ids the database itself makes up, so that they do not repeat across partitions.
bool drawn_by_database(const ColumnFacts& id) {
  constexpr std::array<std::string_view, 5> makers{"nextval(", "gen_random_uuid(", "uuidv4(",
                                                   "uuidv7(", "uuid_generate_v"};
  return id.identity || std::any_of(makers.begin(), makers.end(), [&](std::string_view maker) {
           return id.default_expression.rfind(maker, 0) == 0;
         });
}

template <class Predicate>
const pqxx::row* find_row(const std::vector<pqxx::row>& rows, Predicate&& predicate) {
  const auto found = std::find_if(rows.begin(), rows.end(), predicate);
  return found == rows.end() ? nullptr : &*found;
}

/// A partitioned table can only have unique indexes that include its partition key. Together with
/// created_at that makes positions unique; whether *ids* repeat then rests on who makes them up.
void check_partitioned_ids(TableCheck& check, const ColumnFacts& id,
                           const std::vector<pqxx::row>& indexes) {
  const auto* index = find_row(indexes, [](const pqxx::row& row) {
    return row["is_unique"].as<bool>() && row["has_id"].as<bool>();
  });
  if (index == nullptr) {
    check.findings.refuse(
        id.full_name() + " is not unique: two rows could share a position",
        "CREATE UNIQUE INDEX ON " + check.name + " (" + id.name + ", " + check.partition_key + ")");
    return;
  }
  const std::string name = (*index)["name"].c_str();
  const bool unique_position = check.target.source.order_by == OrderBy::created_at &&
                               (*index)["is_of_id_and_time"].as<bool>();
  if (drawn_by_database(id)) {
    check.findings.ok("id: unique within partitions (" + name + "), drawn by the database");
  } else if (unique_position) {
    check.findings.warn(
        "ids are made up by the producer and unique only together with created_at "
        "(" +
            name +
            "): a repeated id repeats its idempotency key, and receivers "
            "would take the second row for a repeat",
        "draw them in the database: DEFAULT gen_random_uuid() or an identity column");
  } else {
    check.findings.refuse(id.full_name() +
                              " is made up by the producer and unique only within a "
                              "partition: two rows could share a position",
                          id.alter("SET DEFAULT gen_random_uuid()") + "\nor: an identity column");
  }
}

void check_unique(TableCheck& check, const ColumnFacts& id, const std::vector<pqxx::row>& indexes) {
  const auto* index = find_row(indexes, [](const pqxx::row& row) {
    return row["is_unique"].as<bool>() && row["is_id_alone"].as<bool>();
  });
  if (index != nullptr) {
    check.findings.ok("id: unique by " + std::string((*index)["name"].c_str()));
  } else if (check.partitioned) {
    check_partitioned_ids(check, id, indexes);
  } else {
    check.findings.refuse(
        id.full_name() + " is not unique: two rows could share a position and an idempotency key",
        "CREATE UNIQUE INDEX CONCURRENTLY ON " + check.name + " (" + id.name + ")");
  }
}

void check_order_index(TableCheck& check, const ColumnFacts& id, const ColumnFacts& time,
                       const std::vector<pqxx::row>& indexes) {
  const bool by_id = check.target.source.order_by == OrderBy::id;
  const char* const serves = by_id ? "leads_with_id" : "leads_with_time_and_id";
  const auto* index = find_row(indexes, [&](const pqxx::row& row) {
    return row["btree"].as<bool>() && row[serves].as<bool>(false);
  });
  if (index != nullptr) {
    check.findings.ok("index: " + std::string((*index)["name"].c_str()) + " serves the order");
    return;
  }
  const auto* brin = find_row(indexes, [&](const pqxx::row& row) {
    return !row["btree"].as<bool>() &&
           row[by_id ? "leads_with_id" : "leads_with_time"].as<bool>(false);
  });
  const auto columns = by_id ? id.name : time.name + ", " + id.name;
  check.findings.warn(
      "no btree index on (" + columns + "): every poll for new rows reads the whole table" +
          (brin == nullptr ? ""
                           : "; " + std::string((*brin)["name"].c_str()) +
                                 " cannot serve, it does not give rows in order (docs/indexes.md)"),
      std::string("CREATE INDEX ") + (check.partitioned ? "" : "CONCURRENTLY ") + "ON " +
          check.name + " (" + columns + ")");
}

bool index_knows_lane(TableCheck& check, const Table& table, const LaneId& lane) {
  check.connection.begin(sql::check::avoid_scans);
  std::string plan;
  for (const auto& line :
       check.connection.run(statement_for(sql::check::explain_lane, table, lane))) {
    plan += line[0].as<std::string>();
  }
  check.connection.rollback();
  return plan.find("Index Cond") != std::string::npos;
}

/// An index knows no alias.
std::string without_alias(std::string expression) {
  for (auto at = expression.find("t."); at != std::string::npos; at = expression.find("t.", at)) {
    const bool alias = at == 0 || !(std::isalnum(static_cast<unsigned char>(expression[at - 1])) ||
                                    expression[at - 1] == '_' || expression[at - 1] == '"');
    alias ? (void)expression.erase(at, 2) : (void)(at += 2);
  }
  return expression;
}

void check_lane_index(TableCheck& check, const std::string& columns) {
  const auto& process = check.target.process;
  if (process.lanes <= lanes_without_index_max) return;
  try {
    const auto table = resolve_table(check.connection, check.target.source);
    const auto lanes = std::to_string(process.lanes);
    if (index_knows_lane(check, table, {process.name, 0, process.lanes})) {
      return check.findings.ok("index: knows the lane of a row");
    }
    check.findings.warn(
        "no index knows the lane of a row: each of the " + lanes +
            " lanes reads, and passes over, the rows of all others (docs/indexes.md)",
        fill(sql::check::lane_index, {{"concurrently", check.partitioned ? "" : "CONCURRENTLY "},
                                      {"table", check.name},
                                      {"key", without_alias(table.key)},
                                      {"lanes", lanes},
                                      {"columns", columns}}));
  } catch (const SourceBroken&) {  // reported by the other checks
    check.connection.rollback();
  }
}

}  // namespace

void check_indexes(TableCheck& check) {
  const auto id = read_column(check, check.target.source.id).front();
  const auto time = read_column(check, check.target.source.created_at).front();
  if (!id.is_there || !time.is_there) return;
  const auto result = check.connection.run(sql::check::indexes,
                                           {check.oid, check.column_name(check.target.source.id),
                                            check.column_name(check.target.source.created_at)});
  const std::vector<pqxx::row> indexes(result.begin(), result.end());
  check_unique(check, id, indexes);
  check_order_index(check, id, time, indexes);
  const bool by_id = check.target.source.order_by == OrderBy::id;
  check_lane_index(check, by_id ? id.name : time.name + ", " + id.name);
}

}  // namespace seriatim::postgres

// No two rows at one position, and the next rows found without a scan.
#include <algorithm>
#include <array>

#include "postgres/check_table.hpp"
#include "postgres/sql_text.hpp"
#include "seriatim_sql.hpp"

namespace seriatim::postgres {

namespace {

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
      "no btree index on (" + columns + "): every look for new rows reads the whole table" +
          (brin == nullptr ? ""
                           : "; " + std::string((*brin)["name"].c_str()) +
                                 " cannot serve, it does not give rows in order (docs/indexes.md)"),
      std::string("CREATE INDEX ") + (check.partitioned ? "" : "CONCURRENTLY ") + "ON " +
          check.name + " (" + columns + ")");
}

}  // namespace

void check_indexes(TableCheck& check) {
  const auto id = read_column(check, check.target.source.id).front();
  const auto time = read_column(check, check.target.source.created_at).front();
  if (!id.is_there || !time.is_there) return;
  const auto result = check.connection.run(sql::check_indexes,
                                           {check.oid, check.column_name(check.target.source.id),
                                            check.column_name(check.target.source.created_at)});
  const std::vector<pqxx::row> indexes(result.begin(), result.end());
  check_unique(check, id, indexes);
  check_order_index(check, id, time, indexes);
}

}  // namespace seriatim::postgres

#pragma once

#include <set>
#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/admin/check/findings.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/sql_text.hpp"

namespace seriatim::postgres {

/// What every check of a table works on.
struct TableCheck {
  Connection& connection;
  const Target& target;
  Findings& findings;
  std::string role;
  std::string oid = {};                ///< of the table
  std::string name = {};               ///< schema and name, quoted
  std::set<std::string> columns = {};  ///< as in the catalogue
  bool partitioned = false;
  std::string partition_key = {};  ///< its columns, quoted: "created_at, region"

  /// The catalogue's name of a configured column: taken as it is, else as SQL would read it.
  [[nodiscard]] std::string column_name(const std::string& configured) const {
    return columns.contains(configured) ? configured : fold_identifier(configured);
  }
};

/// One column of the table, of a partition, or of a table it is a partition of.
struct ColumnFacts {
  std::string relation;  ///< quoted
  std::string name;      ///< quoted
  bool is_there = false;
  std::string type;   ///< "timestamp with time zone"
  int modifier = -1;  ///< its precision; -1: full
  bool not_null = false;
  bool identity = false;
  bool generated = false;
  bool may_update = false;
  std::string default_expression;

  /// "public.bookings.created_at"
  [[nodiscard]] std::string full_name() const { return relation + '.' + name; }
  /// "ALTER TABLE public.bookings ALTER COLUMN created_at …"
  [[nodiscard]] std::string alter(const std::string& change) const {
    return "ALTER TABLE " + relation + " ALTER COLUMN " + name + ' ' + change;
  }
};

/// The table's column first, then the same column of its relatives: rows come in by all of them.
[[nodiscard]] std::vector<ColumnFacts> read_column(const TableCheck& check,
                                                   const std::string& configured_name);

/// True where it refused a column that is not there.
bool refuse_missing(TableCheck& check, const ColumnFacts& column, const std::string& setting,
                    const std::string& definition);
void check_not_null(TableCheck& check, const ColumnFacts& column);

/// Ids are drawn one by one from one sequence.
[[nodiscard]] bool id_order_is_possible(TableCheck& check);

/// Finds the table and refuses what cannot be an outbox; false if there is nothing to check.
bool check_relation(TableCheck& check);
void check_created_at(TableCheck& check);
/// Warns if rows of one created_at go out in another order than they were written.
void check_ties(TableCheck& check);
void check_id(TableCheck& check);
void check_indexes(TableCheck& check);
/// The four above: the table itself, which is checked again while lanes read it.
bool check_source(TableCheck& check);
void check_expressions(TableCheck& check);
void check_cursors(TableCheck& check);
/// What cuts old rows, whether they were read or not.
void check_retention(TableCheck& check);
void check_identity(TableCheck& check, const CheckOptions& options);

}  // namespace seriatim::postgres

// What stamps created_at, and when: the order rests on it.
#include <algorithm>
#include <array>
#include <span>

#include "postgres/admin/check/check_table.hpp"
#include "postgres/table/long_transaction.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/check.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::string_view insertion_time = "clock_timestamp()";
constexpr std::string_view timestamptz = "timestamp with time zone";

/// What a default other than clock_timestamp() stamps, in words.
std::string stamp_words(const std::string& expression) {
  constexpr std::array<std::string_view, 3> transaction_start{"now()", "CURRENT_TIMESTAMP",
                                                              "transaction_timestamp()"};
  if (expression.empty()) return "has no default: the producer's clock stamps it";
  if (std::find(transaction_start.begin(), transaction_start.end(), expression) !=
      transaction_start.end()) {
    return "defaults to " + expression + ", the transaction's start";
  }
  if (expression == "statement_timestamp()") {
    return "defaults to statement_timestamp(), the statement's start";
  }
  return "defaults to " + expression + ", not to the moment of insertion";
}

bool late_rows_are_delivered(const TableCheck& check) {
  return check.target.source.late_rows == OnLateRow::deliver;
}

void check_long_transaction(TableCheck& check) {
  const auto open = find_long_transaction(check.connection);
  if (!open) return;
  const auto who = open->pid == 0 ? "prepared transaction " + quote_literal(open->gid)
                                  : "pid " + std::to_string(open->pid) + " (" + open->application +
                                        ", role " + open->user + ")";
  check.findings.warn(
      who + " has a transaction open for " + std::to_string(open->age.count() / 1000) +
          " s: until it ends, late rows may go out after rows of transactions that began once "
          "theirs had committed",
      open->pid == 0 ? "COMMIT PREPARED " + quote_literal(open->gid) +
                           " or ROLLBACK PREPARED, in "
                           "its database"
                     : "let it end; to end it now, which undoes its work: SELECT "
                       "pg_terminate_backend(" +
                           std::to_string(open->pid) + ")");
}

bool check_default(TableCheck& check, const ColumnFacts& column) {
  if (!column.generated && column.default_expression == insertion_time) return true;
  // Most frameworks stamp by now(); such a table needs no change.
  const auto what = stamp_words(column.default_expression);
  const bool by_transaction = what.find("the transaction's start") != std::string::npos;
  const std::string deliver =
      "late_rows = \"deliver\" in [process.source], and a lookback longer than any transaction: "
      "the table stays as it is, and rows that come late are delivered, marked as late";
  const auto alter = column.alter("SET DEFAULT clock_timestamp()");
  check.findings.refuse(
      column.full_name() + ' ' + what +
          ": a row may be stamped before rows delivered earlier, and would be lost",
      (by_transaction ? deliver + "\nor: " + alter : alter) +
          "\nor: order_by = \"id\", if id is drawn from a sequence" +
          (by_transaction ? "" : "\nor: " + deliver));
  return false;
}

void check_time_type(TableCheck& check, const ColumnFacts& column) {
  const bool by_id = check.target.source.order_by == OrderBy::id;
  if (column.type == "timestamp without time zone") {
    if (by_id) return;  // shown to receivers, decides nothing
    check.findings.refuse(
        column.full_name() +
            " is a timestamp without time zone: what it says "
            "depends on the session that wrote it",
        column.alter("TYPE timestamptz USING " + column.name + " AT TIME ZONE 'UTC'"));
  } else if (column.type != timestamptz) {
    check.findings.refuse(column.full_name() + " is of type " + column.type,
                          "created_at = a column of type timestamptz");
  } else if (!by_id && !late_rows_are_delivered(check) && column.modifier >= 0 &&
             column.modifier < 6) {
    check.findings.refuse(column.full_name() + " is rounded to " + std::to_string(column.modifier) +
                              " digits: a row may be stamped before the moment it was inserted",
                          column.alter("TYPE timestamptz"));
  }
}

}  // namespace

void check_created_at(TableCheck& check) {
  const auto columns = read_column(check, check.target.source.created_at);
  const auto& column = columns.front();
  if (refuse_missing(check, column, "created_at",
                     "timestamptz NOT NULL DEFAULT clock_timestamp()")) {
    return;
  }
  check_time_type(check, column);
  check_not_null(check, column);
  if (check.target.source.order_by == OrderBy::id) return;
  if (late_rows_are_delivered(check)) {
    check.findings.ok("order: (" + column.name + ", id); a row stamped up to " +
                      std::to_string(check.target.source.lookback.count() / 1000) +
                      " s behind the cursor is delivered late, one further behind halts the lane");
    check_long_transaction(check);
    return;
  }
  // Partitions often differ because they were made before the parent's default was fixed; once
  // the parent is, its ALTER TABLE reaches them all, so the parent is named first and alone.
  bool sound = check_default(check, column);
  if (sound) {
    for (const auto& leaf : std::span(columns).subspan(1))
      sound = check_default(check, leaf) && sound;
  }
  if (sound) check.findings.ok("order: (" + column.name + ", id), stamped by clock_timestamp()");
  if (id_order_is_possible(check)) {
    check.findings.ok(
        "hint: id is drawn from a sequence one by one, so order_by = \"id\" is possible and the "
        "stronger choice: steps of the clock do not touch it");
  }
}

/// A row that cannot be read is for the lane to halt at.
void check_ties(TableCheck& check) try {
  const auto& source = check.target.source;
  if (source.order_by == OrderBy::id || late_rows_are_delivered(check)) return;
  if (check.findings.refused()) return;
  const auto id = quote_identifier(check.column_name(source.id));
  const auto created_at = quote_identifier(check.column_name(source.created_at));
  const auto moments =
      check.connection
          .run(fill(sql::check::ties,
                    {{"table", check.name}, {"id", id}, {"created_at", created_at}}))[0][0]
          .as<unsigned>();
  if (moments == 0) return;
  check.findings.warn(
      "rows that share a " + created_at + " go out in the order of their ids, and " +
          std::to_string(moments) + (moments == 1 ? " group" : " groups") +
          " of them among the newest 1000 rows were written in another order",
      "late_rows = \"deliver\" in [process.source]: the table stays as it is, and rows of one " +
          created_at +
          " go out as they were written\nor: let the default clock_timestamp() stamp " +
          created_at + "\nor: ids from a sequence, or UUIDs of version 7");
} catch (const SourceBroken& broken) {
  if (broken.reason() != HaltReason::bad_payload) throw;
}

}  // namespace seriatim::postgres

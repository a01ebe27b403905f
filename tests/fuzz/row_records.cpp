#include "postgres/reader/row_records.hpp"

#include <libpq-fe.h>

#include <array>

#include "fuzz/fuzz_target.hpp"

namespace {

constexpr std::array row_columns{"id", "created_at", "key", "event_type", "headers", "payload"};

/// One row; a line of the input is a cell, and an empty one is NULL.
pg_result* row_answered(std::string_view input) {
  auto* result = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  std::array<PGresAttDesc, row_columns.size()> columns{};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].name = const_cast<char*>(row_columns[i]);
    columns[i].format = 1;
  }
  PQsetResultAttrs(result, static_cast<int>(columns.size()), columns.data());
  for (int column = 0; column < static_cast<int>(columns.size()); ++column) {
    std::string cell(seriatim::fuzz::take_line(input));
    if (column == 5) cell += input;
    const int size = cell.empty() ? -1 : static_cast<int>(cell.size());
    PQsetvalue(result, 0, column, cell.data(), size);
  }
  return result;
}

}  // namespace

SERIATIM_FUZZ_TARGET(row_records) {
  using namespace seriatim::postgres;
  using seriatim::fuzz::require;
  for (const bool binary : {false, true}) {
    const Answer answer(row_answered(input));
    try {
      const RowRecords rows(answer, binary, 1000);
      require(rows.records.size() + (rows.unreadable ? 1 : 0) == 1, "a row is read, or is not");
      require(rows.whole == !rows.unreadable, "an answer is whole if all rows are read");
    } catch (const std::exception& e) {
      require(answer.cell(0, 4).has_value(),
              "only headers that are no pairs in JSON can be refused");
    }
  }
}

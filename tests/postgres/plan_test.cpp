// At a million rows every poll reads one range of an index: no sort, no scan of the table, about as
// many rows examined as are asked for.
#include <doctest/doctest.h>

#include "postgres/connection.hpp"
#include "postgres/sql_text.hpp"
#include "postgres/table.hpp"
#include "seriatim_sql.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using namespace seriatim::postgres;

namespace {

constexpr const char* million_rows =
    "CREATE TABLE t (id {type} PRIMARY KEY, created_at timestamptz NOT NULL, payload text);"
    "INSERT INTO t SELECT {id}, '2026-01-01'::timestamptz + i * interval '1 ms', 'p' "
    "FROM generate_series(1, 1000000) AS i;"
    "CREATE INDEX ON t (created_at, id);"
    "VACUUM ANALYZE t";

struct MillionRows {
  MillionRows(const std::string& type, const std::string& id) {
    const auto script = fill(million_rows, {{"type", type}, {"id", id}});
    // VACUUM stands alone.
    const auto vacuum = script.rfind(";VACUUM");
    database.run(script.substr(0, vacuum));
    database.run(script.substr(vacuum + 1));
  }
  testing::TestDatabase database;
  Connection connection{database.url(), {}};
};

std::string plan(Connection& connection, const std::string& statement, const Params& params) {
  std::string text;
  for (const auto& line : connection.run(
           "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS) " + statement, params)) {
    text += line[0].as<std::string>() + '\n';
  }
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Blocks touched by the whole statement: the first Buffers line.
long blocks(const std::string& text) {
  long sum = 0;
  const auto at = text.find("Buffers: shared");
  const auto line = text.substr(at, text.find('\n', at) - at);
  for (const std::string_view kind : {"hit=", "read="}) {
    const auto found = line.find(kind);
    if (found != std::string::npos) sum += std::stol(line.substr(found + kind.size()));
  }
  return sum;
}

void check_plan(const std::string& text) {
  CAPTURE(text);
  CHECK(contains(text, "Index"));
  CHECK_FALSE(contains(text, "Seq Scan"));
  CHECK_FALSE(contains(text, "Sort"));
  CHECK_FALSE(contains(text, "Rows Removed by Filter"));
  CHECK(blocks(text) < 60);  // a hundred rows and the way down the index
}

SourceConfig source(OrderBy order) {
  SourceConfig config;
  config.table = "t";
  config.order_by = order;
  return config;
}

const std::string middle = "2026-01-01 00:08:20+00";  // of row 500 000
const std::string settled = "2026-06-01 00:00:00+00";

}  // namespace

TEST_CASE("polls of a million rows use an index in both orders") {
  MillionRows rows("bigint", "i");
  auto& connection = rows.connection;
  const auto by_time = resolve_table(connection, source(OrderBy::created_at));
  const auto by_id = resolve_table(connection, source(OrderBy::id));
  const std::optional<std::string> none;
  const std::optional<std::string> rows_max = "100";
  const std::optional<std::string> bytes = "1000000";

  struct Case {
    const char* what;
    const Table& table;
    std::string_view statement;
    Params params;
  };
  const std::vector<Case> cases{
      {"created_at order, from the middle",
       by_time,
       sql::rows_by_created_at,
       {middle, "500000", settled, none, rows_max, bytes, bytes, none}},
      {"created_at order, from the start",
       by_time,
       sql::rows_by_created_at,
       {none, none, settled, none, rows_max, bytes, bytes, none}},
      {"created_at order, caught up",
       by_time,
       sql::rows_by_created_at,
       {"2026-01-01 00:16:40+00", "1000000", settled, none, rows_max, bytes, bytes, none}},
      {"created_at order, what is held back",
       by_time,
       sql::first_row_by_created_at,
       {middle, "500000", middle}},
      {"created_at order, rows without a place in it", by_time, sql::unstamped_row, {}},
      {"id order, from the middle",
       by_id,
       sql::rows_by_id,
       {"500000", none, none, rows_max, bytes, bytes, none}},
      {"id order, settled rows from the start",
       by_id,
       sql::rows_by_id,
       {none, "900000", none, rows_max, bytes, bytes, none}},
      {"id order, candidates", by_id, sql::candidates_by_id, {"500000", none, rows_max}},
      {"id order, the newest row", by_id, sql::newest_by_id, {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    check_plan(plan(connection, statement_for(c.statement, c.table, {"process", 0, 1}), c.params));
  }
}

TEST_CASE("polls of text ids use the index too") {
  MillionRows rows("varchar(20)", "i::text");
  const auto table = resolve_table(rows.connection, source(OrderBy::created_at));
  check_plan(plan(rows.connection, statement_for(sql::rows_by_created_at, table, {"process", 0, 1}),
                  {middle, "500000", settled, {}, "100", "1000000", "1000000", {}}));
}

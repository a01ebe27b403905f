// At a million rows every poll reads one range of an index: no sort, no scan of the table, about as
// many rows examined as are asked for.
#include <doctest/doctest.h>

#include <cstdint>

#include "postgres/table/row_statements.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/check.hpp"
#include "sql/prune.hpp"
#include "sql/reader.hpp"
#include "sql/reports.hpp"
#include "sql/store.hpp"
#include "sql/table.hpp"
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
    // VACUUM runs alone.
    const auto vacuum = script.rfind(";VACUUM");
    database.run(script.substr(0, vacuum));
    database.run(script.substr(vacuum + 1));
  }
  testing::TestDatabase database;
  Connection connection{database.url(), {.one_plan = true}};  // as a lane's
};

/// Made without reading the parameters, as a prepared statement's is after a while, or with one.
std::string plan(Connection& connection, const std::string& statement,
                 const std::vector<std::string>& values,
                 const std::string& mode = "force_generic_plan") {
  std::string literals;
  for (const auto& value : values) literals += (literals.empty() ? "(" : ", ") + value;
  if (!literals.empty()) literals += ')';
  connection.run_script("SET plan_cache_mode = " + mode + "; DEALLOCATE ALL; PREPARE p AS " +
                        statement);
  std::string text;
  for (const auto& line : connection.run(
           "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS) EXECUTE p" + literals)) {
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

const std::string share = "100000";
const std::string bytes = "1000000";
const std::string middle = "'2026-01-01 00:08:20+00'";  // of row 500 000
const std::string settled = "'2026-06-01 00:00:00+00'";
const std::string always = "'-infinity'";
const std::string from_smallest = std::to_string(INT64_MIN);
const std::string to_largest = std::to_string(INT64_MAX);
const LaneId lane{"process", 0, 1};

}  // namespace

TEST_CASE("polls of a million rows use an index in both orders") {
  MillionRows rows("bigint", "i");
  auto& connection = rows.connection;
  const auto by_time = resolve_table(connection, source(OrderBy::created_at));
  const auto by_id = resolve_table(connection, source(OrderBy::id));

  for (const auto bound : {BatchBound::share, BatchBound::bytes}) {
    const auto in_time = [&](bool start) {
      return rows_in_range(by_time, lane, {bound, start, 100, false});
    };
    const auto in_ids = rows_in_range(by_id, lane, {bound, false, 100, false});
    struct Case {
      const char* what;
      std::string statement;
      std::vector<std::string> values;
    };
    const std::vector<Case> cases{
        {"created_at order, from the middle",
         in_time(false),
         {share, bytes, middle, "500000", settled, always}},
        {"created_at order, from the start",
         in_time(true),
         {share, bytes, "NULL", "NULL", settled, always}},
        {"created_at order, caught up",
         in_time(false),
         {share, bytes, "'2026-01-01 00:16:40+00'", "1000000", settled, always}},
        {"id order, from the middle",
         in_ids,
         {share, bytes, "500001", to_largest, middle, "500000", "500000"}},
        {"id order, settled rows from the start",
         in_ids,
         {share, bytes, from_smallest, "900000", "NULL", "NULL", from_smallest}},
    };
    for (const auto& c : cases) {
      CAPTURE(c.what);
      check_plan(plan(connection, c.statement, c.values));
    }
  }
  const auto check = [&](std::string_view statement, const Table& table,
                         const std::vector<std::string>& values) {
    CAPTURE(statement);
    check_plan(
        plan(connection, statement_for(statement, table, lane, {{"rows_max", "100"}}), values));
  };
  check(sql::reader::candidates_by_id, by_id, {"500001", to_largest});
  check(sql::reader::newest_by_id, by_id, {});
  check(sql::reader::unstamped_row, by_time, {});
}

TEST_CASE("what is held back at a million rows is found by the index") {
  MillionRows rows("bigint", "i");
  const auto table = resolve_table(rows.connection, source(OrderBy::created_at));
  std::string text;
  for (const auto& line :
       rows.connection.run("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS) " +
                               statement_for(sql::table::first_row, table, lane),
                           {"2026-01-01 00:08:20+00", "500000", "2026-01-01 00:08:20+00"})) {
    text += line[0].as<std::string>() + '\n';
  }
  check_plan(text);
}

TEST_CASE("a statement that serves both orders enters the index of each") {
  MillionRows rows("bigint", "i");
  rows.database.run(
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, position_id, "
      "bucket_at, "
      "bucket_id, sequence) VALUES ('process', 0, 1, '2026-01-01 00:08:20+00', '500000', "
      "'2026-01-01 "
      "00:08:20+00', '500000', 500000);"
      "INSERT INTO seriatim.ledger (process_name, lane, lanes, number, from_at, from_id, to_at, "
      "to_id, rows, ids, ranges) VALUES ('process', 0, 1, 500000, '2026-01-01 00:08:19+00', "
      "'499000', '2026-01-01 00:08:20+00', '500000', 1000, '{}', '{[499001,500001)}');"
      "INSERT INTO seriatim.horizon (process_name, lane, at, id) VALUES ('process', 0, "
      "'2025-12-31', "
      "'0')");
  const std::string from = "2026-01-01 00:08:19+00";
  const std::string to = "2026-01-01 00:08:20+00";
  struct Case {
    const char* what;
    std::string_view statement;
    Params params;
  };
  const std::vector<Case> cases{
      {"first row", sql::table::first_row, {to, "500000", std::nullopt}},
      {"count", sql::table::count, {to, "500000", "1000"}},
      {"rows that wait in all lanes",
       sql::table::count_lanes,
       {to, "500000", "1000", "{0,1}", "{" + to + "," + to + "}", "{500000,500900}"}},
      {"last row before", sql::table::last_row_before, {to, "500000"}},
      {"rows between", sql::table::rows_between, {from, "499000", to, "500000"}},
      {"rows after", sql::reader::rows_after, {to, "500000", std::nullopt, "1000"}},
      {"row place", sql::reports::row_place, {to, "500000", "500900", "1000", "process", "0"}},
      {"recount", sql::store::recount, {"process", "0", "0", "10"}},
      {"late row", sql::store::late_row, {to, "500000", "499500"}},
      {"late rows",
       sql::store::late_rows,
       {from, "499000", to, "500000", "1100", "process", "0", "500000", "500000", "100"}},
      {"below the horizon", sql::store::below_horizon, {"process", "0", "100"}},
      {"candidates of a prune", sql::prune::candidates, {from, "499000", to, "1000"}},
  };
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    const auto table = resolve_table(rows.connection, source(order));
    for (const auto& c : cases) {
      std::string text;
      for (const auto& line : rows.connection.run(
               "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS) " +
                   statement_for(c.statement, table, lane,
                                 {{"below", "true"}, {"free", "true"}, {"lanes", "2"}}),
               c.params)) {
        text += line[0].as<std::string>() + '\n';
      }
      CAPTURE(c.what);
      CAPTURE(text);
      CHECK(contains(text, "Index"));
      CHECK_FALSE(contains(text, "Seq Scan on t"));
      CHECK(blocks(text) < 100);
    }
  }
}

TEST_CASE("polls of text ids use the index too") {
  MillionRows rows("varchar(20)", "i::text");
  const auto table = resolve_table(rows.connection, source(OrderBy::created_at));
  check_plan(plan(rows.connection,
                  rows_in_range(table, lane, {BatchBound::share, false, 100, false}),
                  {share, bytes, middle, "'500000'", settled, always}));
}

TEST_CASE("polls of one of 64 lanes read its rows alone where an index knows the lane") {
  MillionRows rows("bigint", "i");
  rows.database.run(
      "ALTER TABLE t ADD COLUMN key text GENERATED ALWAYS AS ('k' || id % 997) STORED");
  auto config = source(OrderBy::created_at);
  config.key = "key";
  const auto table = resolve_table(rows.connection, config);
  const LaneId one{"process", 17, 64};
  rows.database.run(fill(sql::check::lane_index, {{"concurrently", ""},
                                                  {"table", "t"},
                                                  {"key", "key"},
                                                  {"lanes", "64"},
                                                  {"columns", "created_at, id"}}));
  rows.database.run("VACUUM ANALYZE t");
  for (const bool start : {false, true}) {
    const auto statement = rows_in_range(table, one, {BatchBound::share, start, 100, false});
    const auto text =
        plan(rows.connection, statement,
             {share, bytes, start ? "NULL" : middle, start ? "NULL" : "500000", settled, always},
             "force_generic_plan");
    CAPTURE(text);
    CHECK(contains(text, "Index Cond: ((COALESCE("));
    CHECK_FALSE(contains(text, "Rows Removed by Filter"));
    CHECK_FALSE(contains(text, "Sort"));
    CHECK(blocks(text) < 150);  // a hundred rows, each on a page of its own, and the way down
  }
}

// --- whatever the table holds -------------------------------------------------------------------

namespace {

constexpr const char* plain_table =
    "CREATE TABLE t (id bigint PRIMARY KEY, created_at timestamptz NOT NULL, payload text) "
    "WITH (autovacuum_enabled = off); CREATE INDEX ON t (created_at, id);";
constexpr const char* rows_of_one_second_each =
    "INSERT INTO t SELECT i, '2026-01-01Z'::timestamptz + i * interval '1 s', 'p' "
    "FROM generate_series(1, {rows}) AS i;";
constexpr const char* days =
    "CREATE TABLE t (id bigint NOT NULL, created_at timestamptz NOT NULL, payload text) "
    "PARTITION BY RANGE ({key}); CREATE INDEX ON t (created_at, id); CREATE INDEX ON t (id);"
    "DO $$ BEGIN FOR d IN 0..63 LOOP EXECUTE format("
    "'CREATE TABLE t%s PARTITION OF t FOR VALUES FROM (%L) TO (%L)', d, {from}, {to}); "
    "END LOOP; END $$;";

/// How a lane's connection plans what is polled, without its values.
std::string planned(Connection& connection, const std::string& statement, OrderBy order) {
  connection.run_script("DEALLOCATE ALL; PREPARE p AS " + statement);
  const std::string values =
      order == OrderBy::id
          ? "(100000, 1000000, 10, 9223372036854775807, '2026-01-01 00:00:10Z', 9, 9)"
          : "(100000, 1000000, '2026-01-01 00:00:10Z', 10, "
            "'2026-03-01Z', '-infinity')";
  std::string text;
  for (const auto& line : connection.run("EXPLAIN EXECUTE p" + values)) {
    text += line[0].as<std::string>() + '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("a lane's polls go along the index whatever the table holds and where leaves out") {
  const auto rows = [](int count) {
    return fill(rows_of_one_second_each, {{"rows", std::to_string(count)}});
  };
  const auto by_day = [](const std::string& key, const std::string& from, const std::string& to) {
    return fill(days, {{"key", key}, {"from", from}, {"to", to}});
  };
  const std::vector<std::pair<const char*, std::string>> states{
      {"empty", plain_table},
      {"small", plain_table + rows(20)},
      {"large, never analyzed", plain_table + rows(200'000)},
      {"analyzed when it was empty", std::string(plain_table) + "ANALYZE t;" + rows(200'000)},
      {"64 partitions by time", by_day("created_at",
                                       "'2026-01-01Z'::timestamptz + d * interval '1 "
                                       "day'",
                                       "'2026-01-01Z'::timestamptz + (d + 1) * interval '1 day'") +
                                    rows(200'000)},
      {"64 partitions by id", by_day("id", "d * 86400", "(d + 1) * 86400") + rows(200'000)}};
  for (const auto& [what, script] : states) {
    CAPTURE(what);
    testing::TestDatabase database;
    database.run(script);
    for (const auto order : {OrderBy::created_at, OrderBy::id}) {
      for (const auto* where : {"", "t.payload <> 'q'", "t.id % 2 = 0 OR t.payload IS NULL"}) {
        CAPTURE(where);
        auto config = source(order);
        config.where = where;
        config.key = "payload";
        Connection connection(database.url(), {.one_plan = true});
        const auto table = resolve_table(connection, config);
        for (const auto& one : {lane, LaneId{"process", 3, 64}}) {
          for (const auto bound : {BatchBound::share, BatchBound::bytes}) {
            const auto text =
                planned(connection, rows_in_range(table, one, {bound, false, 100, false}), order);
            CAPTURE(text);
            CHECK(contains(text, "Index"));
            CHECK_FALSE(contains(text, "Seq Scan"));
            CHECK_FALSE(contains(text, "Sort  ("));
            CHECK_FALSE(contains(text, "Bitmap"));
          }
        }
      }
    }
  }
}

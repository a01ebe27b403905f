// A cursor beyond the table's end halts: rows would be inserted behind it (FAULTS 7).
#include <doctest/doctest.h>

#include "postgres/lane_fixture.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

/// A table with rows that are all delivered.
struct Delivered : TestDatabase {
  explicit Delivered(OrderBy order, const std::string& id = "bigint GENERATED ALWAYS AS IDENTITY",
                     const std::string& rows = "(payload) VALUES ('x'), ('x'), ('x')") {
    run("CREATE TABLE t (id " + id +
        " PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT clock_timestamp(), payload text);"
        "CREATE INDEX ON t (created_at, id); INSERT INTO t " +
        rows);
    opened.emplace(*this, table("t", order));
    if (opened->lane.deliver().empty()) throw Error("not delivered");
  }
  std::optional<HaltReason> reason_of_poll() {
    try {
      opened->lane.poll();
    } catch (const SourceBroken& broken) {
      return broken.reason();
    }
    return std::nullopt;
  }
  std::optional<Opened> opened;
};

}  // namespace

TEST_CASE("a cursor beyond a table that was emptied and restarted halts") {
  Delivered table(OrderBy::id);
  table.run("TRUNCATE t RESTART IDENTITY");
  CHECK(table.reason_of_poll() == HaltReason::cursor_ahead);
}

TEST_CASE("a cursor beyond a sequence that was set back halts") {
  Delivered table(OrderBy::id);
  table.run("SELECT setval(pg_get_serial_sequence('t', 'id'), 1)");
  CHECK(table.reason_of_poll() == HaltReason::cursor_ahead);
}

TEST_CASE("newer rows with lower ids than the cursor halt where there is no sequence to ask") {
  Delivered table(OrderBy::id, "bigint", "(id) VALUES (10), (11)");
  table.run("TRUNCATE t; INSERT INTO t VALUES (3)");
  CHECK(table.reason_of_poll() == HaltReason::cursor_ahead);
}

TEST_CASE("a table pruned behind the cursor is no reason to halt") {
  Delivered table(OrderBy::id);
  table.run("DELETE FROM t");
  CHECK_FALSE(table.reason_of_poll());
  table.run("INSERT INTO t (payload) VALUES ('x')");
  CHECK(table.opened->lane.deliver() == Ids{"4"});
}

TEST_CASE("a cursor later than the server's clock halts") {
  Delivered table(OrderBy::created_at);
  table.run("UPDATE seriatim.cursor SET position_at = clock_timestamp() + interval '1 min'");
  table.opened->lane.claim();
  CHECK(table.reason_of_poll() == HaltReason::clock_back);
}

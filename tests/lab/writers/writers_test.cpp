#include <doctest/doctest.h>

#include "lab/writers/busy.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim::lab;
using seriatim::testing::TestDatabase;

namespace {

struct Outbox {
  Outbox() { database.run("CREATE TABLE t (key text, n serial)"); }

  Writers::Options writers(const Shape& shape) {
    return {.count = 3, .open = Busy{database.url(), {shape}, tally}};
  }
  bool has_rows(int rows) {
    return database.becomes_true("SELECT count(*) >= " + std::to_string(rows) + " FROM t");
  }

  TestDatabase database;
  Tally tally;
  const Shape plain{.insert = "INSERT INTO t (key) VALUES ($1)",
                    .values = [](Dice&) { return Session::Params{"kept"}; }};
};

}  // namespace

TEST_SUITE("writers") {
  TEST_CASE("commit what they count, and roll back, also to savepoints") {
    Outbox outbox;
    auto shape = outbox.plain;
    shape.inserts = 2;
    shape.savepoint = shape.rollback = 0.5;
    Writers writers(outbox.writers(shape));
    writers.start();
    CHECK(outbox.has_rows(100));
    writers.stop();
    CHECK(outbox.database.value("SELECT count(*) FROM t") == std::to_string(outbox.tally.rows));
    CHECK(outbox.tally.rolled_back > 0);
    CHECK(outbox.database.value("SELECT max(n) > count(*) FROM t") == "t");
    CHECK(writers.quiet());
  }

  TEST_CASE("begin nothing while they may not") {
    Outbox outbox;
    auto options = outbox.writers(outbox.plain);
    options.may_begin = [&] { return outbox.tally.rows < 10; };
    Writers writers(options);
    writers.start();
    CHECK(outbox.has_rows(10));
    writers.stop();
    CHECK(outbox.tally.rows <= 12);  // one more of each other writer
  }

  TEST_CASE("that lose the server end with its error, or connect again") {
    const char* const kill =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
        "current_database() AND application_name = 'writer'";
    for (const bool reconnects : {false, true}) {
      CAPTURE(reconnects);
      Outbox outbox;
      auto options = outbox.writers(outbox.plain);
      options.reconnects = reconnects;
      Writers writers(options);
      writers.start();
      CHECK(outbox.has_rows(1));
      CHECK(outbox.database.value(kill) != "0");
      if (reconnects) {
        CHECK(outbox.has_rows(std::stoi(outbox.database.value("SELECT count(*) FROM t")) + 100));
        CHECK_NOTHROW(writers.stop());
      } else {
        CHECK_THROWS_AS(writers.stop(), SqlFailed);
      }
    }
  }
}

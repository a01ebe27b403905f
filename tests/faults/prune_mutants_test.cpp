// The rules of the horizon and of the recount, broken one by one: each is seen.
#include <doctest/doctest.h>

#include "cli/stage.hpp"

using namespace seriatim::testing;

namespace {

/// 400 rows delivered, and the program with one of its rules broken (hooks.cpp).
struct Broken : Stage {
  explicit Broken(std::string mutant) : mutant_(std::move(mutant)) {
    append(400);
    REQUIRE(seriatim({"run", "--drain"}).code == 0);
    database.run(
        "UPDATE seriatim.ledger SET hash = seriatim.ledger_hash(ids, ranges), ids = NULL, "
        "ranges = NULL");
  }

  int broken(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SERIATIM_HOOKED_PROGRAM);
    auto chosen = options();
    chosen.environment["SERIATIM_MUTANT"] = mutant_;
    return Process(arguments, chosen).wait().code;
  }
  std::string count() { return database.value("SELECT count(*) FROM seriatim.outbox"); }

 private:
  std::string mutant_;
};

}  // namespace

TEST_CASE("a horizon that passes rows another process has not read is seen") {
  for (const std::string mutant : {"", "unread_passed"}) {
    CAPTURE(mutant);
    Broken stage(mutant);
    stage.database.run(
        "INSERT INTO seriatim.cursor (process_name, lane, lanes, identity, position_at,"
        " position_id) SELECT 'reader', 0, 1, c.identity, o.created_at, o.id::text"
        " FROM seriatim.cursor AS c, seriatim.outbox AS o WHERE o.id = 100");
    stage.broken({"prune", "--older-than", "0s"});
    CHECK((stage.count() == "301") == mutant.empty());
  }
}

TEST_CASE("a horizon that does not list the rows that stay is seen") {
  for (const std::string mutant : {"", "unlisted_passed"}) {
    CAPTURE(mutant);
    Broken stage(mutant);
    stage.database.run(
        "INSERT INTO seriatim.parked (process_name, row_id, lane, position_at, holds_key, head)"
        " SELECT 'p', '17', 0, created_at, false, true FROM seriatim.outbox WHERE id = 17");
    CHECK(stage.broken({"prune", "--older-than", "0s"}) == 0);
    CHECK(stage.count() == "2");
    CHECK(stage.seriatim({"audit", "p"}).code == (mutant.empty() ? 0 : 1));
  }
}

TEST_CASE("a recount that misses a refilled range is seen") {
  for (const std::string mutant : {"", "counts_alone"}) {
    CAPTURE(mutant);
    Broken stage(mutant);
    stage.database.run(  // another row in the place of one
        "WITH gone AS (DELETE FROM seriatim.outbox WHERE id = 17 RETURNING *)"
        " INSERT INTO seriatim.outbox (id, aggregate_type, aggregate_id, event_type, created_at)"
        " OVERRIDING SYSTEM VALUE SELECT 5000, 'a', 'b', 'c', created_at FROM gone");
    const int expected = mutant.empty() ? 1 : 0;
    CHECK(stage.broken({"audit", "p"}) == expected);
    CHECK(stage.broken({"prune", "--older-than", "0s"}) == expected);
    CHECK((stage.database.value("SELECT count(*) FROM seriatim.outbox WHERE id = 5000") == "1") ==
          mutant.empty());
  }
}

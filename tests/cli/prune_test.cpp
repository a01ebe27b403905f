// `seriatim prune` and `init --partitioned` as users run them.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <csignal>

#include "cli/stage.hpp"

using namespace seriatim::testing;

namespace {

struct PruneStage : Stage {
  explicit PruneStage(int rows = 400) {
    append(rows);
    REQUIRE(seriatim({"run", "--drain"}).code == 0);
  }
  std::string count() { return database.value("SELECT count(*) FROM seriatim.outbox"); }
  Process slow_prune() {
    return Process(command({"prune", "--older-than", "0s", "--batch", "1", "--reason", "slow"}),
                   options());
  }
  void wait_until_some_are_gone() {
    REQUIRE(database.becomes_true("SELECT count(*) < 395 FROM seriatim.outbox"));
  }
};

}  // namespace

TEST_SUITE("prune") {
  TEST_CASE("it names what would go, takes it away, and says what it left") {
    PruneStage stage;
    stage.append();  // waits
    const auto would = stage.seriatim({"prune", "--older-than", "0s", "--dry-run"});
    CHECK(would.code == 0);
    CHECK(contains(would.out, "seriatim.outbox: 399 rows would be deleted"));
    CHECK(stage.count() == "401");
    const auto none = stage.seriatim({"prune"});
    CHECK(contains(none.out, "seriatim.outbox: 0 rows deleted"));  // younger than seven days
    const auto done = stage.seriatim(
        {"prune", "p", "--older-than", "0s", "--json", "--who", "alice", "--reason", "x"});
    CHECK(done.code == 0);
    const auto table = boost::json::parse(done.out).at("tables").at(0);
    CHECK(table.at("rows").as_int64() == 399);
    CHECK(table.at("sound").as_bool());
    CHECK(table.at("processes").at(0).as_string() == "p");
    CHECK(stage.count() == "2");
    CHECK(stage.database.value("SELECT string_agg(act || who || why, ' ' ORDER BY id) FROM "
                               "seriatim.journal WHERE act LIKE 'prune%'") ==
          "prunealicex prunedalicex");
    const auto audit = stage.seriatim({"audit", "p"});
    CHECK(audit.code == 0);
    CHECK(contains(audit.out, "0 rows deleted since; 399 rows pruned"));
    const auto rewind = stage.seriatim({"rewind", "p", "--to", "start"});
    CHECK(contains(rewind.out, "399 rows there were pruned and cannot be delivered again"));
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
  }

  TEST_CASE("Ctrl-C ends it between two batches") {
    PruneStage stage;
    auto prune = stage.slow_prune();
    stage.wait_until_some_are_gone();
    prune.signal(SIGINT);
    const auto ended = prune.wait();
    CHECK(ended.code == 0);
    CHECK(contains(ended.out, "; ended early"));
    const auto left = std::stoi(stage.count());
    CHECK(left > 1);
    CHECK(contains(ended.out, std::to_string(400 - left) + " rows deleted"));
    CHECK(
        stage.database.value("SELECT detail->>'rows' FROM seriatim.journal WHERE act = 'pruned'") ==
        std::to_string(400 - left));
  }

  TEST_CASE("killed in the middle it leaves nothing half done, and the next one goes on") {
    PruneStage stage;
    auto prune = stage.slow_prune();
    stage.wait_until_some_are_gone();
    prune.signal(SIGKILL);
    CHECK(prune.wait().code == 128 + SIGKILL);
    REQUIRE(stage.database.becomes_true(
        "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'seriatim/prune' "
        "AND datname = current_database())"));
    const auto left = std::stoi(stage.count());
    CHECK(left > 1);
    const auto audit = stage.seriatim({"audit", "p"});
    CHECK(audit.code == 0);
    CHECK(contains(audit.out,
                   "0 rows deleted since; " + std::to_string(400 - left) + " rows pruned"));
    CHECK(stage.database.value("SELECT why FROM seriatim.journal WHERE act = 'prune'") == "slow");
    CHECK(stage.seriatim({"prune", "--older-than", "0s"}).code == 0);
    CHECK(stage.count() == "1");
    CHECK(stage.seriatim({"audit", "p"}).code == 0);
  }

  TEST_CASE("a row that was never delivered makes it fail, and is named") {
    PruneStage stage;
    stage.database.run(
        "INSERT INTO seriatim.outbox (id, aggregate_type, aggregate_id, event_type, created_at) "
        "OVERRIDING SYSTEM VALUE "
        "SELECT 5000, 'a', 'b', 'c', created_at FROM seriatim.outbox WHERE id = 7");
    const auto pruned = stage.seriatim({"prune", "--older-than", "0s"});
    CHECK(pruned.code == 1);
    CHECK(contains(pruned.out, "1 row behind a cursor that were neither delivered nor set aside"));
    CHECK(contains(pruned.out, "5000"));
    CHECK(stage.count() == "2");
  }

  TEST_CASE("wrong usage is refused") {
    const Stage stage;
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"prune", "p", "--table", "t"},
                                               {"prune", "--older-than", "7"},
                                               {"prune", "q"},
                                               {"prune", "--batch", "0"},
                                               {"init", "--partitioned", "weekly"}}) {
      const auto wrong = stage.seriatim(arguments);
      CAPTURE(wrong.err);
      CHECK(wrong.code == 2);
    }
    const auto nobody = stage.seriatim({"prune", "--table", "seriatim.journal"});
    CHECK(nobody.code == 1);
    CHECK(contains(nobody.err, "no process of this configuration reads table seriatim.journal"));
  }

  TEST_CASE("init --partitioned makes partitions, run creates the ones that are missing") {
    Stage stage;
    const auto made = stage.seriatim({"init", "--partitioned", "hourly"});
    CHECK(made.code == 0);
    CHECK(contains(made.out, "created 49 partitions of seriatim.outbox"));
    CHECK(contains(stage.seriatim({"init", "--print", "--partitioned", "daily"}).out,
                   "seriatim.partition_outbox('daily')"));
    stage.append(3);
    const auto newest = stage.database.value(
        "SELECT max(inhrelid::regclass::text) FILTER (WHERE inhrelid::regclass::text NOT LIKE "
        "'%default') "
        "FROM pg_inherits WHERE inhparent = 'seriatim.outbox'::regclass");
    stage.database.run("DROP TABLE " + newest);
    Process run(Stage::command({"run"}), stage.options());
    run.wait_for_errors("created partition " + newest);
    REQUIRE(stage.database.becomes_true("SELECT max(sequence) = 3 FROM seriatim.cursor"));
    run.signal(SIGTERM);
    CHECK(run.wait().code == 0);
    CHECK(stage.seriatim({"audit", "p"}).code == 0);
    const auto again = stage.seriatim({"init", "--partitioned", "daily"});
    CHECK(again.code == 0);
  }
}

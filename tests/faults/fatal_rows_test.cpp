// FAULTS.md 34: a row at which the handler ends the process halts its lane as CRASHES; no other row
// is blamed for it.
#include <doctest/doctest.h>

#include <fstream>

#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::testing;

namespace {

/// Six rows; the handler dies at the fourth.
struct FatalStage {
  FatalStage(std::string how, std::string rows_a_commit)
      : way(std::move(how)), commit_every(std::move(rows_a_commit)) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "INSERT INTO t (payload) SELECT CASE n WHEN 4 THEN 'fatal' ELSE 'x' END"
        " FROM generate_series(1, 6) AS n");
    std::ofstream(config) << database_section(database.url())
                          << http_process("p", "public.t", "created_at", "http://127.0.0.1:1/",
                                          "batch_rows = 10\n");
  }
  Ended live() const {
    Process::Options options;
    options.environment = {{"DATABASE_URL", database.url()}};
    return run({FATAL_HANDLER, way, commit_every, file.string()}, options);
  }
  /// Lives that ended in the handler, until one ended by itself.
  int deaths() const {
    for (int count = 0; count < 20; ++count) {
      const auto ended = live();
      if (ended.out == "ended halted\n") return count;
      REQUIRE_MESSAGE(ended.out.empty(), ended.out, ended.err);
    }
    return 20;
  }
  Ended verb(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), SERIATIM_PROGRAM);
    arguments.insert(arguments.end(), {"--config", config.string()});
    return run(std::move(arguments));
  }
  /// " 1 2 3": the ids handed over so far.
  [[nodiscard]] std::string calls() const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string way;
  std::string commit_every;
  TestDatabase database;
  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "calls";
  std::filesystem::path config = folder.path() / "seriatim.toml";
};

void check_halted_at_the_fatal_row(FatalStage& stage) {
  CHECK(stage.database.value("SELECT concat_ws(' ', state, reason, failed_id, sequence, attempts)"
                             " FROM seriatim.cursor") == "halted CRASHES 4 3 3");
  CHECK(stage.database.value("SELECT string_agg(DISTINCT row_id, ',') FROM seriatim.journal"
                             " WHERE act = 'halt'") == "4");
  const auto before = stage.calls();
  CHECK(stage.live().out == "ended halted\n");
  CHECK(stage.calls() == before);
}

}  // namespace

TEST_SUITE("rows that kill") {
  TEST_CASE("a row that ends the process halts after three starts, and `skip` sets it aside") {
    for (const char* way : {"abort", "segfault", "exit"}) {
      CAPTURE(way);
      FatalStage stage(way, "1");
      CHECK(stage.deaths() == 3);
      CHECK(stage.calls() == " 1 2 3 4 4 4");
      check_halted_at_the_fatal_row(stage);
      const auto status = stage.verb({"status"});
      CHECK(status.code == 3);
      CHECK(status.out.find("this row kills the process") != std::string::npos);
      CHECK(stage.verb({"skip", "p", "4", "--reason", "it kills us"}).code == 0);
      CHECK(stage.live().out == "ended stopped\n");
      CHECK(stage.calls() == " 1 2 3 4 4 4 5 6");
    }
  }

  TEST_CASE("in a batch of ten the row that kills is found, and those before it are not blamed") {
    FatalStage stage("abort", "10");
    CHECK(stage.deaths() == 4);
    CHECK(stage.calls() == " 1 2 3 4 1 2 3 4 4 4");  // after the first death one by one
    check_halted_at_the_fatal_row(stage);
  }

  TEST_CASE("fixed, the row is tried again by `retry` and the lane goes on") {
    FatalStage stage("abort", "1");
    CHECK(stage.deaths() == 3);
    stage.database.run("UPDATE t SET payload = 'fixed' WHERE id = 4");
    CHECK(stage.verb({"retry", "p"}).code == 0);
    CHECK(stage.live().out == "ended stopped\n");
    CHECK(stage.calls() == " 1 2 3 4 4 4 4 5 6");
    CHECK(stage.database.value("SELECT crashes || ' ' || sequence FROM seriatim.cursor") == "0 6");
  }
}

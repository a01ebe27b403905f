// FAULTS.md 36 for read models: wherever the relay dies, each row is in the model once.
#include <doctest/doctest.h>

#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::testing;

namespace {

constexpr int killed = 128 + 9;
constexpr int rows = 100;

struct ProjectionStage {
  ProjectionStage() {
    outbox.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload json,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "INSERT INTO t (payload) SELECT json_build_object('n', g) FROM generate_series(1, " +
        std::to_string(rows) + ") g");
    for (auto* database : {&outbox, &elsewhere}) {
      database->run("CREATE TABLE model (number bigint GENERATED ALWAYS AS IDENTITY, id bigint)");
    }
  }
  [[nodiscard]] RelayProgram start(const std::string& name, const std::string& handler,
                                   const RelayProgram::Hooks& hooks = {}) const {
    return {folder, name,
            database_section(outbox.url()) +
                "[[process]]\nname = \"p\"\nbatch_rows = 30\nlease = \"2s\"\n"
                "standby_interval = \"50ms\"\n[process.source]\ntable = \"public.t\"\n"
                "order_by = \"id\"\n[process.handler]\nkind = \"sql\"\n" +
                handler,
            hooks};
  }

  TestDatabase outbox;
  TestDatabase elsewhere;
  TemporaryFolder folder;
};

constexpr const char* one_by_one = "statement = \"INSERT INTO model (id) VALUES (:id::bigint)\"\n";
constexpr const char* in_batches =
    "statement = \"INSERT INTO model (id) SELECT r.id::bigint FROM :records AS r"
    " ORDER BY r.sequence\"\n";

}  // namespace

TEST_SUITE("read models") {
  TEST_CASE("killed at any point of a batch, a read model has each row once and in order") {
    for (const char* at :
         {"after start:1", "before call:2", "after call:2", "before settle:2", "after settle:2"}) {
      for (const char* statement : {one_by_one, in_batches}) {
        for (const bool apart : {false, true}) {
          CAPTURE(at);
          CAPTURE(statement);
          CAPTURE(apart);
          ProjectionStage stage;
          auto& target = apart ? stage.elsewhere : stage.outbox;
          const auto handler =
              statement + (apart ? "url = \"" + target.url() + "\"\n" : std::string());
          auto first = stage.start("killed", handler, {{"SERIATIM_CRASH_AT", at}});
          REQUIRE(first.wait().code == killed);
          const auto next = stage.start("next", handler);
          REQUIRE(stage.outbox.becomes_true("SELECT sequence = 100 FROM seriatim.cursor"));
          CHECK(target.value("SELECT count(*) || ' ' || count(DISTINCT id) FROM model") ==
                "100 100");
          CHECK(target.value("SELECT bool_and(id > before) FROM (SELECT id, lag(id, 1, 0::bigint)"
                             " OVER (ORDER BY number) AS before FROM model) AS m") == "t");
        }
      }
    }
  }
}

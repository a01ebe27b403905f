// The examples in this folder do what they say.
#include "exec/exec_stage.hpp"

using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;

namespace {

ExecHandlerConfig example(const std::string& name, const std::string& argument) {
  ExecHandlerConfig config;
  config.command = {EXEC_EXAMPLES "/" + name, argument};
  return config;
}

/// What a query of an SQLite file answers, as Python prints it.
std::string rows_of(const ExecStage& stage, const std::string& query) {
  constexpr const char* program =
      "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())";
  const auto ended = run({"python3", "-c", program, stage.file("model").string(), query});
  CHECK_MESSAGE(ended.code == 0, ended.err);
  return ended.out;
}

std::vector<Record> bookings() {
  auto rows = ExecStage::rows(4, R"({"customer":"Ærø","seats":2})");
  rows[1].payload = R"({"customer":"Bo","seats":1})";
  rows[3].payload = R"({"seats":1})";
  return rows;
}

}  // namespace

TEST_CASE("append.sh adds each record to a file, and asks to be tried again where it cannot") {
  ExecStage stage(example("append.sh", "out"));
  CHECK(stage.deliver(ExecStage::rows(3)).done == 3);
  CHECK(stage.lines() == 3);
  ExecStage full(example("append.sh", "/no/such/folder/out"));
  const auto outcome = full.deliver(ExecStage::rows(1));
  REQUIRE(outcome.next);
  CHECK(outcome.next->kind == Outcome::Kind::retry_later);
  CHECK(outcome.next->reason == "cannot write the file");
}

TEST_CASE("bookings.py counts each booking once, also one that comes again") {
  ExecStage stage(example("bookings.py", "model"));
  const auto rows = bookings();
  const auto first = stage.deliver(rows);
  CHECK(first.done == 3);
  REQUIRE(first.next);
  CHECK(first.next->kind == Outcome::Kind::poison);
  CHECK(first.next->reason == "no booking: KeyError('customer')");
  CHECK(stage.deliver({rows[1], rows[2]}).done == 2);
  CHECK(rows_of(stage, "SELECT * FROM total ORDER BY 2") == "[('Bo', 1), ('Ærø', 4)]\n");
}

TEST_CASE("batches.py takes what comes together in one transaction, up to what it refuses") {
  auto config = example("batches.py", "model");
  config.batches = true;
  config.group_rows = 3;
  ExecStage stage(std::move(config));
  auto rows = bookings();
  CHECK(stage.deliver(rows).done == 4);
  rows = ExecStage::rows(9);
  rows[7].payload = "no JSON";
  const auto outcome = stage.deliver(rows);
  CHECK(outcome.done == 7);
  REQUIRE(outcome.next);
  CHECK(outcome.next->kind == Outcome::Kind::poison);
  CHECK(rows_of(stage, "SELECT count(*), max(id) FROM event") == "[(7, 'row-7')]\n");
}

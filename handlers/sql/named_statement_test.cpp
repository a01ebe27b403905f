#include "sql/named_statement.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace seriatim;
using seriatim::handlers::NamedStatement;

namespace {

Record make_record() {
  Record record;
  record.position = {1'700'000'000'000'000, "7"};
  record.key = "a\"\\b";
  record.payload = R"({"n":1})";
  record.headers = {{"trace", "x\"y"}};
  record.process = "p";
  record.sequence = 3;
  return record;
}

std::string complaint(const std::string& text) {
  try {
    const NamedStatement statement(text);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return "";
}

}  // namespace

TEST_CASE("names become parameters, the same name the same one") {
  const NamedStatement statement("INSERT INTO m VALUES (:id, :payload::jsonb, :id, :event_type)");
  CHECK(statement.text() == "INSERT INTO m VALUES ($1, $2::jsonb, $1, $3)");
  CHECK(statement.params(make_record()) == Transaction::Params{"7", R"({"n":1})", std::nullopt});
}

TEST_CASE("every value of a record has a name") {
  const NamedStatement statement(
      "SELECT f(:process, :lane, :sequence, :epoch, :attempt, :late, :created_at, :headers,"
      " :previous_id, :idempotency_key)");
  CHECK(statement.params(make_record()) ==
        Transaction::Params{"p", "0", "3", "0", "1", "false", "2023-11-14T22:13:20.000000Z",
                            R"({"trace":"x\"y"})", std::nullopt, "p:7"});
}

TEST_CASE("what only resembles a name stays") {
  for (const char* text : {"SELECT ':id', \":id\", a::text, E'\\':id', 'it''s :id'",
                           "SELECT 1 -- :id\n + 1", "SELECT 1 /* :id /* :id */ :id */",
                           "SELECT $$ :id $$, $x$ :id $$ $x$", "SELECT a[1:2]", "SELECT b := 1"}) {
    CAPTURE(text);
    const NamedStatement statement(text);
    CHECK(statement.text() == text);
    CHECK_FALSE(statement.has_names());
  }
}

TEST_CASE("a batch is a relation of its own") {
  const NamedStatement statement("INSERT INTO m SELECT r.id FROM :records AS r;");
  CHECK(statement.takes_batches());
  CHECK(statement.text().find("unnest($1::bigint[]") != std::string::npos);
  CHECK(statement.text().find(';') == std::string::npos);
  const std::vector<Record> batch{make_record(), make_record()};
  const handlers::RecordColumns columns(batch);
  using Texts = std::vector<std::optional<std::string_view>>;
  using Numbers = std::vector<std::int64_t>;
  CHECK(columns.values() == std::vector<Transaction::Column>{
                                Numbers{3, 3}, Texts{"7", "7"}, Texts{"a\"\\b", "a\"\\b"},
                                Texts{std::nullopt, std::nullopt},
                                Texts{R"({"n":1})", R"({"n":1})"},
                                Texts{R"({"trace":"x\"y"})", R"({"trace":"x\"y"})"},
                                Numbers{1'700'000'000'000'000, 1'700'000'000'000'000}, Texts{"p"}});
}

TEST_CASE("what cannot be run is refused with its reason") {
  CHECK(complaint("SELECT :amount").find("no record has :amount; there are :records, :id") == 0);
  CHECK(complaint("SELECT 1; SELECT 2").find("several statements") != std::string::npos);
  CHECK(complaint("  -- nothing\n") == "holds no statement");
  CHECK(complaint(" ; ") == "holds no statement");
  CHECK(complaint("COMMIT").find("\"commit\"") == 0);
  CHECK(complaint("/* x */ rollback").find("\"rollback\"") == 0);
  CHECK(complaint("SELECT 'open").find("not closed") != std::string::npos);
  CHECK(complaint("SELECT $a$ open").find("$a$ is not closed") == 0);
  CHECK(complaint("SELECT :id FROM :records r").find("names :records and :id") == 0);
}

#include <algorithm>
#include <optional>

#include "fuzz/fuzz_target.hpp"
#include "sql/named_statement.hpp"
#include "support/handler_calls.hpp"

namespace {

std::optional<seriatim::handlers::NamedStatement> statement_from(const std::string& text) {
  try {
    return seriatim::handlers::NamedStatement(text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace

SERIATIM_FUZZ_TARGET(sql_statement) {
  using seriatim::fuzz::require;
  const std::string text(input);
  const auto statement = statement_from(text);
  if (!statement) return;
  const auto padded = statement_from("/* :id */ " + text + "\n-- :nothing");
  require(padded.has_value(), "comments around a statement change nothing");
  require(padded->takes_batches() == statement->takes_batches() &&
              padded->has_names() == statement->has_names(),
          "names in comments do not count");
  if (statement->has_names()) {
    require(text.find(':') != text.npos, "a name begins with a colon");
    const auto record = seriatim::testing::make_record("{}");
    const auto values = statement->params(record).size();
    const auto last = '$' + std::to_string(values);
    require(statement->takes_batches() || statement->text().find(last) != text.npos,
            "every value has its place");
    require(!statement->takes_batches() || values == 0, "a batch has no values of its own");
    return;
  }
  auto same = statement->text();  // but for blanks in place of what follows the ;
  while (!same.empty() && same.back() == ' ') same.pop_back();
  require(text.starts_with(same), "a statement without names is left as it is");
  const auto again = statement_from(statement->text());
  require(again && again->text() == statement->text(), "it is accepted again");
}

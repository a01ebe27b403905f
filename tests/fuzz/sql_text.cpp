#include "postgres/wire/sql_text.hpp"

#include <vector>

#include "fuzz/fuzz_target.hpp"

namespace {

/// The inside of a quoted text, as PostgreSQL reads it; `escape` takes what follows as it is.
std::string unquoted_at(std::string_view& text, char quote, char escape) {
  using seriatim::fuzz::require;
  std::string out;
  require(text.starts_with(quote), "a text begins with a quote");
  for (text.remove_prefix(1); !text.empty(); text.remove_prefix(1)) {
    const bool escaped =
        text.size() > 1 && (text[0] == escape && (escape != quote || text[1] == quote));
    if (!escaped && escape != quote && text.starts_with("''") && quote == '\'') {
      text.remove_prefix(1);
    } else if (escaped) {
      text.remove_prefix(1);
    } else if (text[0] == quote) {
      return text.remove_prefix(1), out;
    }
    out += text[0];
  }
  throw seriatim::fuzz::RuleBroken("a quoted text ends with a quote");
}

}  // namespace

SERIATIM_FUZZ_TARGET(sql_text) {
  using namespace seriatim::postgres;
  using seriatim::fuzz::require;
  require(fold_identifier(quote_identifier(input)) == input, "a quoted name is read back");
  const auto literal = quote_literal(input);
  std::string_view rest(literal);
  const bool escapes = rest.starts_with('E');
  if (escapes) rest.remove_prefix(1);
  require(unquoted_at(rest, '\'', escapes ? '\\' : '\'') == input && rest.empty(),
          "so is a literal");
  std::vector<std::string> elements;
  while (!input.empty()) elements.emplace_back(seriatim::fuzz::take_line(input));
  const auto array = array_text(elements);
  rest = array;
  for (const auto& element : elements) {
    rest.remove_prefix(1);  // { or ,
    require(unquoted_at(rest, '"', '\\') == element, "so is an element of an array");
  }
  require(rest == (elements.empty() ? "{}" : "}"), "an array ends with its last element");
}

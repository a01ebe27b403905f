#include "app/text.hpp"
#include "fuzz/fuzz_target.hpp"
#include "postgres/wire/sql_text.hpp"
#include "support/encoding.hpp"
#include "support/excerpt.hpp"
#include "support/json_value.hpp"

SERIATIM_FUZZ_TARGET(utf8) {
  using namespace seriatim;
  using fuzz::require;
  const bool is_valid = app::valid_utf8(input) == input;
  const auto json = '"' + handlers::json_escape(input) + '"';
  require(is_valid == handlers::json_problem(json).empty(), "app and Boost.JSON agree on UTF-8");
  std::string without_nul;
  for (const char c : input) {
    if (c != '\0') without_nul += c;
  }
  const auto stored = postgres::storable_text(input, input.size());
  require(is_valid == (stored == without_nul), "app and postgres agree on UTF-8");
  require(app::valid_utf8(stored) == stored, "what is stored is UTF-8");
  require(app::valid_utf8(app::valid_utf8(input)) == app::valid_utf8(input), "nothing is left");
  constexpr std::size_t limit = 60;
  const auto shown = handlers::excerpt(input, limit);
  const auto printed = app::printable(input, limit);
  for (const auto& text : {shown, printed}) {
    require(app::valid_utf8(text) == text, "what is shown is UTF-8");
    require(!fuzz::has_control(text), "what is shown stays on its line");
    require(text.size() <= limit + 3, "what is shown is cut");
  }
  require(shown.size() <= limit, "an excerpt is cut");
  require(handlers::excerpt(shown, limit) == shown, "an excerpt is left as it is");
  require(postgres::storable_text(input, 10).size() <= 10, "what is stored is cut");
}

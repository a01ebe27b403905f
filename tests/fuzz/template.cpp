#include "support/template.hpp"

#include <algorithm>
#include <optional>

#include "fuzz/fuzz_target.hpp"
#include "support/cannot_render.hpp"
#include "support/handler_calls.hpp"

namespace {

using namespace seriatim::handlers;

/// Absent if the template or the record is refused.
std::optional<std::string> rendered(const std::string& text, Escaping escaping,
                                    const seriatim::Record& record) {
  try {
    const Template form(text, escaping);
    TemplateValues values(record);
    auto once = form.render(values);
    seriatim::fuzz::require(once == form.render(values), "a template renders the same twice");
    seriatim::fuzz::require(!form.is_constant() || once == text, "a constant is its text");
    return once;
  } catch (const CannotRender&) {
    return std::nullopt;
  }
}

}  // namespace

SERIATIM_FUZZ_TARGET(template) {
  const std::string text(seriatim::fuzz::take_line(input));
  if (std::count(text.begin(), text.end(), '#') > 3) return;  // lists within lists grow too long
  const auto record = seriatim::testing::make_record(std::string(input));
  (void)rendered(text, Escaping::none, record);
  const bool unescaped = text.find("{{{") != text.npos || text.find('&') != text.npos;
  const auto json = rendered(text, Escaping::json, record);
  seriatim::fuzz::require(!json || unescaped || !seriatim::fuzz::has_control(*json) ||
                              seriatim::fuzz::has_control(text) ||
                              json->find('\x7f') != std::string::npos,
                          "a value stays inside its JSON string");
  const auto url = rendered(text, Escaping::url, record);
  for (const char c : std::string_view("/?#@: \r\n\"\0", 10)) {
    seriatim::fuzz::require(!url || url->find(c) == url->npos || text.find(c) != text.npos,
                            "a value stays inside its part of the URL");
  }
}

#include "support/json_value.hpp"

#include "fuzz/fuzz_target.hpp"
#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace {

using seriatim::handlers::JsonValue;

std::string printed(const JsonValue& value) {
  const auto quoted = [](const std::string& text) {
    return '"' + seriatim::handlers::json_escape(text) + '"';
  };
  std::string out;
  switch (value.kind) {
    case JsonValue::Kind::null: return "null";
    case JsonValue::Kind::boolean:
    case JsonValue::Kind::number: return value.text;
    case JsonValue::Kind::text: return quoted(value.text);
    case JsonValue::Kind::list:
      for (const auto& item : value.items) out += (out.empty() ? "" : ",") + printed(item);
      return '[' + out + ']';
    case JsonValue::Kind::object: break;
  }
  for (const auto& [name, member] : value.members) {
    out += (out.empty() ? "" : ",") + quoted(name) + ':' + printed(member);
  }
  return '{' + out + '}';
}

}  // namespace

SERIATIM_FUZZ_TARGET(json_value) {
  using namespace seriatim::handlers;
  const auto problem = json_problem(input);
  try {
    const auto text = printed(parse_json(input));
    seriatim::fuzz::require(problem.empty(), "what is parsed has no problem");
    seriatim::fuzz::require(printed(parse_json(text)) == text, "JSON is the same after printing");
  } catch (const CannotRender&) {
    seriatim::fuzz::require(!problem.empty(), "what is refused has a problem, printed JSON none");
  }
}

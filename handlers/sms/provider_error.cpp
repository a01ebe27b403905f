#include "sms/provider_error.hpp"

#include "support/cannot_render.hpp"
#include "support/json_value.hpp"

namespace seriatim::handlers {

namespace {

std::string member(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  return value ? value->text : std::string();
}

}  // namespace

std::string provider_error_text(const std::string& body) {
  try {
    const auto error = parse_json(body);
    const auto code = member(error, "code");
    const auto message = member(error, "message");
    if (code.empty()) return message.empty() ? body : message;
    return "code " + code + (message.empty() ? "" : ": " + message);
  } catch (const CannotRender&) {
    return body;
  }
}

}  // namespace seriatim::handlers

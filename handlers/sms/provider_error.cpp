#include "sms/provider_error.hpp"

#include "support/cannot_render.hpp"
#include "support/json_data.hpp"

namespace seriatim::handlers {

namespace {

std::string member(const kainjow::mustache::data& object, const char* name) {
  const auto* value = object.get(name);
  return value && value->is_string() ? value->string_value() : std::string();
}

}  // namespace

std::string provider_error_text(const std::string& body) {
  try {
    const auto error = json_to_data(body);
    const auto code = member(error, "code");
    const auto message = member(error, "message");
    if (code.empty()) return message.empty() ? body : message;
    return "code " + code + (message.empty() ? "" : ": " + message);
  } catch (const CannotRender&) {
    return body;
  }
}

}  // namespace seriatim::handlers

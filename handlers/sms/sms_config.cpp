#include "sms/sms_config.hpp"

#include "support/cannot_render.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

namespace {

std::string required_template(Options& options, std::string_view key) {
  auto text = options.required_text(key);
  try {
    (void)Template(text, Escaping::none);
  } catch (const CannotRender& e) {
    options.problem(key, e.what());
  }
  return text;
}

}  // namespace

SmsHandlerConfig read_sms_config(Options& options) {
  SmsHandlerConfig config;
  config.target = read_http_target(options);
  config.to = required_template(options, "to");
  config.from = required_template(options, "from");
  config.body = required_template(options, "body");
  return config;
}

}  // namespace seriatim::handlers

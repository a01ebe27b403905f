#include "sms/sms_config.hpp"

#include "support/option_checks.hpp"

namespace seriatim::handlers {

namespace {

std::string required_template(Options& options, std::string_view key) {
  auto text = options.required_text(key);
  check_template(options, key, text);
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

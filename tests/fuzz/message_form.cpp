#include "support/message_form.hpp"

#include "fuzz/fuzz_target.hpp"
#include "support/cannot_render.hpp"
#include "support/handler_calls.hpp"

SERIATIM_FUZZ_TARGET(message_form) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  const auto table = std::make_shared<seriatim::Options::Table>();
  for (const char* key : {"body", "content_type"}) {
    const std::string text(seriatim::fuzz::take_line(input));
    if (!text.empty()) table->values[key] = {text, "x.toml:1"};
  }
  seriatim::Problems problems;
  seriatim::Options options(table, problems);
  const auto config = read_message_form(options);
  if (!problems.empty()) return;
  if (config.body_template.find('#') != std::string::npos) return;  // lists grow too long
  const MessageForm form(config);  // may not throw: the configuration had no problem
  require(!seriatim::fuzz::has_control(form.content_type()) ||
              form.content_type().find('\t') != std::string::npos,
          "a content type is one header");
  const auto record = seriatim::testing::make_record(std::string(input));
  try {
    const auto body = form.body_of(record);
    require(body.bytes().has_value(), "a record with a payload has a body");
    const bool as_stored = config.body == MessageFormConfig::Body::payload ||
                           config.body == MessageFormConfig::Body::cloudevents;
    require(!as_stored || *body.bytes() == input, "a payload is sent as it was stored");
  } catch (const CannotRender&) {
  }
}

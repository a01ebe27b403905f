#include "http/http_config.hpp"

#include "http/http_handler.hpp"
#include "support/cannot_render.hpp"
#include "support/header_text.hpp"
#include "support/webhook_signature.hpp"

namespace seriatim::handlers {

namespace {

using Body = HttpHandlerConfig::Body;

void read_body(Options& options, HttpHandlerConfig& config) {
  const auto text = options.text("body", "payload");
  config.body_template = options.text("template");
  if (text == "cloudevents") {
    config.body = Body::cloudevents;
  } else if (text == "cloudevents-structured") {
    config.body = Body::cloudevents_structured;
  } else if (text.find("{{") != std::string::npos) {
    config.body_template = text;
  } else if (text != "payload") {
    options.problem("body",
                    "must be \"payload\", \"cloudevents\", \"cloudevents-structured\" or a "
                    "mustache template");
  }
  if (config.body_template.empty()) return;
  if (options.has("template") && options.has("body")) {
    options.problem("template", "set either template or body");
  }
  config.body = Body::rendered;
}

void read_secrets(Options& options, HttpHandlerConfig& config) {
  config.secrets = options.texts("secrets");
  // An empty one is wrong too: nobody means to send unsigned because a variable was empty.
  if (options.has("secret")) {
    if (!config.secrets.empty()) options.problem("secret", "set either secret or secrets");
    config.secrets.insert(config.secrets.begin(), options.text("secret"));
  }
  try {
    (void)WebhookSigner(config.secrets);
  } catch (const CannotRender& e) {
    options.problem(options.has("secrets") ? "secrets" : "secret", e.what());
  }
}

void check_texts(Options& options, const HttpHandlerConfig& config) {
  try {
    check_header("Content-Type", config.content_type);
  } catch (const CannotRender& e) {
    options.problem("content_type", e.what());
  }
  try {
    (void)Template(config.body_template, Escaping::none);
  } catch (const CannotRender& e) {
    options.problem(options.has("template") ? "template" : "body", e.what());
  }
}

}  // namespace

HttpHandlerConfig read_http_config(Options& options) {
  HttpHandlerConfig config;
  config.target = read_http_target(options);
  config.content_type = options.text("content_type", config.content_type);
  read_body(options, config);
  read_secrets(options, config);
  check_texts(options, config);
  return config;
}

}  // namespace seriatim::handlers

#include "http/http_config.hpp"

#include "support/cannot_render.hpp"
#include "support/webhook_signature.hpp"

namespace seriatim::handlers {

namespace {

void read_secrets(Options& options, HttpHandlerConfig& config) {
  config.secrets = options.texts("secrets");
  // An empty secret is refused: an empty variable must not make requests go out unsigned.
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

}  // namespace

HttpHandlerConfig read_http_config(Options& options) {
  HttpHandlerConfig config;
  config.target = read_http_target(options);
  config.form = read_message_form(options);
  read_secrets(options, config);
  return config;
}

}  // namespace seriatim::handlers

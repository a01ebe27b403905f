#include "nats/nats_config.hpp"

#include <fstream>

#include "support/cannot_render.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

namespace {

constexpr ServiceScheme nats_scheme{"nats", "tls", "4222"};
constexpr std::int64_t in_flight_max = 50'000;  // below what the library keeps unread (65 536)

void read_url(Options& options, NatsHandlerConfig& config) {
  const auto text = options.required_text("url");
  if (text.empty()) return;
  try {
    auto url = parse_service_url(text, nats_scheme);
    if (!url.path.empty()) options.problem("url", "must not hold a path");
    config.place = std::move(url.place);
    // nats://TOKEN@host is a token, as the clients of NATS have it.
    (url.password.empty() ? config.token : config.username) = std::move(url.user);
    config.password = std::move(url.password);
  } catch (const CannotRender& e) {
    options.problem("url", e.what());
  }
}

void read_credentials(Options& options, NatsHandlerConfig& config) {
  const bool in_url = !config.token.empty() || !config.username.empty();
  for (const auto& [key, value] :
       {std::pair{"username", &config.username}, std::pair{"password", &config.password},
        std::pair{"token", &config.token},
        std::pair{"credentials_file", &config.credentials_file}}) {
    if (!options.has(key)) continue;
    if (in_url) options.problem(key, "is of no use: the url says who we are");
    *value = options.text(key);
  }
  if (config.username.empty() != config.password.empty()) {
    options.problem("username", "and password go together");
  }
  const int ways = (config.username.empty() ? 0 : 1) + (config.token.empty() ? 0 : 1) +
                   (config.credentials_file.empty() ? 0 : 1);
  if (ways > 1) {
    options.problem("token", "set one of username and password, token, credentials_file");
  }
}

void check_readable(Options& options, const char* key, const std::string& file) {
  if (!file.empty() && !std::ifstream(file)) options.problem(key, "cannot be read");
}

void read_subject(Options& options, NatsHandlerConfig& config) {
  config.subject = options.text("subject", config.subject);
  config.stream = options.text("stream");
  if (config.subject.empty()) options.problem("subject", "must not be empty");
  try {
    (void)Template(config.subject, Escaping::none);
  } catch (const CannotRender& e) {
    options.problem("subject", e.what());
  }
  if (config.stream.find_first_of(" .*>\r\n\t") != std::string::npos) {
    options.problem("stream", "is no name of a stream");
  }
}

}  // namespace

NatsHandlerConfig read_nats_config(Options& options) {
  NatsHandlerConfig config;
  read_url(options, config);
  read_credentials(options, config);
  read_subject(options, config);
  config.form = read_message_form(options);
  config.expect_last_message = options.flag("expect_last_message", config.expect_last_message);
  config.missing_stream_is_poison = options.choice("missing_stream", 0, {"retry", "poison"}) == 1;
  config.in_flight = static_cast<std::size_t>(
      options.integer("in_flight", static_cast<std::int64_t>(config.in_flight), 1, in_flight_max));
  config.connect_timeout = options.duration("connect_timeout", config.connect_timeout);
  config.ca_file = options.text("ca_file");
  check_readable(options, "ca_file", config.ca_file);
  check_readable(options, "credentials_file", config.credentials_file);
  return config;
}

}  // namespace seriatim::handlers

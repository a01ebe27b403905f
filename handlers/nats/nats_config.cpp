#include "nats/nats_config.hpp"

#include "support/option_checks.hpp"

namespace seriatim::handlers {

namespace {

constexpr ServiceScheme nats_scheme{"nats", "tls", "4222"};
constexpr std::int64_t in_flight_max = 50'000;  // below what the library keeps unread (65 536)

void read_credentials(Options& options, NatsHandlerConfig& config) {
  // nats://TOKEN@host is a token, as the clients of NATS have it.
  if (!options.has("username") && config.password.empty()) config.token.swap(config.username);
  const bool in_url = !options.has("username") && !(config.token + config.username).empty();
  for (const auto& [key, value] : {std::pair{"token", &config.token},
                                   std::pair{"credentials_file", &config.credentials_file}}) {
    if (options.has(key) && in_url) options.problem(key, "is of no use: the url says who we are");
    *value = options.text(key, *value);
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

void read_subject(Options& options, NatsHandlerConfig& config) {
  config.subject = options.text("subject", config.subject);
  config.stream = options.text("stream");
  if (config.subject.empty()) options.problem("subject", "must not be empty");
  check_template(options, "subject", config.subject);
  if (config.stream.find_first_of(" .*>\r\n\t") != std::string::npos) {
    options.problem("stream", "is no name of a stream");
  }
}

}  // namespace

NatsHandlerConfig read_nats_config(Options& options) {
  NatsHandlerConfig config;
  if (!read_service(options, nats_scheme, config).empty()) {
    options.problem("url", "must not hold a path");
  }
  read_credentials(options, config);
  read_subject(options, config);
  config.expect_last_message = options.flag("expect_last_message", config.expect_last_message);
  config.missing_stream_is_poison = options.choice("missing_stream", 0, {"retry", "poison"}) == 1;
  config.in_flight = static_cast<std::size_t>(
      options.integer("in_flight", static_cast<std::int64_t>(config.in_flight), 1, in_flight_max));
  check_readable(options, "credentials_file", config.credentials_file);
  return config;
}

}  // namespace seriatim::handlers

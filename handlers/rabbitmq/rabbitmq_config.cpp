#include "rabbitmq/rabbitmq_config.hpp"

#include <fstream>

#include "support/cannot_render.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

namespace {

constexpr ServiceScheme amqp_scheme{"amqp", "amqps", "5672", "5671"};
constexpr std::int64_t in_flight_max = 100'000;
constexpr std::size_t name_bytes_max = 255;  // a short string of AMQP 0-9-1

using Misrouted = RabbitmqHandlerConfig::Misrouted;

void read_url(Options& options, RabbitmqHandlerConfig& config) {
  const auto text = options.required_text("url");
  if (text.empty()) return;
  try {
    auto url = parse_service_url(text, amqp_scheme);
    config.place = std::move(url.place);
    if (!url.path.empty()) config.vhost = std::move(url.path);
    if (!url.user.empty()) {
      config.username = std::move(url.user);
      config.password = std::move(url.password);
      for (const char* key : {"username", "password"}) {
        if (options.has(key)) options.problem(key, "is in the url already");
      }
    }
  } catch (const CannotRender& e) {
    options.problem("url", e.what());
  }
}

void read_names(Options& options, RabbitmqHandlerConfig& config) {
  config.username = options.text("username", config.username);
  config.password = options.text("password", config.password);
  config.vhost = options.text("vhost", config.vhost);
  if (config.vhost.size() > name_bytes_max) options.problem("vhost", "is over 255 bytes");
  for (const auto& [key, value] :
       {std::pair{"username", &config.username}, std::pair{"password", &config.password}}) {
    if (value->find('\0') != std::string::npos) options.problem(key, "holds a NUL");
  }
}

void read_route(Options& options, RabbitmqHandlerConfig& config) {
  config.exchange = options.text("exchange");
  config.routing_key = options.text("routing_key", "{{event_type}}");
  if (config.exchange.empty() && !options.has("routing_key")) {
    options.problem("routing_key", "is missing: without an exchange it names the queue");
  }
  for (const auto& [key, value] :
       {std::pair{"exchange", &config.exchange}, std::pair{"routing_key", &config.routing_key}}) {
    try {
      (void)Template(*value, Escaping::none);
    } catch (const CannotRender& e) {
      options.problem(key, e.what());
    }
  }
}

}  // namespace

RabbitmqHandlerConfig read_rabbitmq_config(Options& options) {
  RabbitmqHandlerConfig config;
  read_url(options, config);
  read_names(options, config);
  read_route(options, config);
  config.form = read_message_form(options);
  const auto unroutable = options.choice("unroutable", 0, {"poison", "retry", "drop"});
  config.mandatory = unroutable != 2;
  config.unroutable = unroutable == 1 ? Misrouted::retry : Misrouted::poison;
  const auto missing = options.choice("missing_exchange", 0, {"retry", "poison"});
  config.missing_exchange = missing == 0 ? Misrouted::retry : Misrouted::poison;
  config.in_flight = static_cast<std::size_t>(
      options.integer("in_flight", static_cast<std::int64_t>(config.in_flight), 1, in_flight_max));
  config.try_routes = options.flag("try_routes", config.try_routes);
  config.connect_timeout = options.duration("connect_timeout", config.connect_timeout);
  config.ca_file = options.text("ca_file");
  if (!config.ca_file.empty() && !std::ifstream(config.ca_file)) {
    options.problem("ca_file", "cannot be read");
  }
  return config;
}

}  // namespace seriatim::handlers

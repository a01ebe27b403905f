#include "rabbitmq/rabbitmq_config.hpp"

#include "support/option_checks.hpp"

namespace seriatim::handlers {

namespace {

constexpr ServiceScheme amqp_scheme{"amqp", "amqps", "5672", "5671"};
constexpr std::int64_t in_flight_max = 100'000;
constexpr std::size_t name_bytes_max = 255;  // a short string of AMQP 0-9-1

using Misrouted = RabbitmqHandlerConfig::Misrouted;

void read_names(Options& options, RabbitmqHandlerConfig& config) {
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
    check_template(options, key, *value);
  }
}

}  // namespace

RabbitmqHandlerConfig read_rabbitmq_config(Options& options) {
  RabbitmqHandlerConfig config;
  const auto path = read_service(options, amqp_scheme, config);
  if (!path.empty()) config.vhost = path;
  read_names(options, config);
  read_route(options, config);
  const auto unroutable = options.choice("unroutable", 0, {"poison", "retry", "drop"});
  config.mandatory = unroutable != 2;
  config.unroutable = unroutable == 1 ? Misrouted::retry : Misrouted::poison;
  const auto missing = options.choice("missing_exchange", 0, {"retry", "poison"});
  config.missing_exchange = missing == 0 ? Misrouted::retry : Misrouted::poison;
  config.in_flight = static_cast<std::size_t>(
      options.integer("in_flight", static_cast<std::int64_t>(config.in_flight), 1, in_flight_max));
  config.try_routes = options.flag("try_routes", config.try_routes);
  return config;
}

}  // namespace seriatim::handlers

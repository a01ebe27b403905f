// What the rabbitmq handler's table may say, and what is reported when it is wrong.
#include "rabbitmq/rabbitmq_config.hpp"

#include <doctest/doctest.h>

#include "seriatim/handlers.hpp"
#include "support/handler_table.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Misrouted = RabbitmqHandlerConfig::Misrouted;

namespace {

Read<RabbitmqHandlerConfig> read(Values values) {
  return read_table(read_rabbitmq_config, std::move(values),
                    {{"url", text("amqp://broker.example")}, {"exchange", text("events")}});
}

bool complains(const Values& values, std::string_view about) {
  return complains(read(values), about);
}

}  // namespace

TEST_CASE("a plain table needs a url and an exchange") {
  const auto [config, problems] = read({});
  CHECK(problems == "");
  CHECK(config.place.origin() == "amqp://broker.example");
  CHECK(config.place.port == "5672");
  CHECK_FALSE(config.place.tls);
  CHECK(config.username == "guest");
  CHECK(config.password == "guest");
  CHECK(config.vhost == "/");
  CHECK(config.exchange == "events");
  CHECK(config.routing_key == "{{event_type}}");
  CHECK(config.mandatory);
  CHECK(config.unroutable == Misrouted::poison);
  CHECK(config.missing_exchange == Misrouted::retry);
  CHECK(config.in_flight == 1'000);
  CHECK(config.try_routes);
}

TEST_CASE("the url holds who, where and which vhost") {
  const auto [config, problems] = read({{"url", text("amqps://relay:p%40ss@broker/sales%2Feu")}});
  CHECK(problems == "");
  CHECK(config.place.tls);
  CHECK(config.place.port == "5671");
  CHECK(config.place.origin() == "amqps://broker");
  CHECK(config.username == "relay");
  CHECK(config.password == "p@ss");
  CHECK(config.vhost == "sales/eu");
  CHECK(read({{"url", text("amqp://broker/")}}).config.vhost == "/");
  CHECK(read({{"url", text("amqp://broker/%2F")}}).config.vhost == "/");
  CHECK(read({{"url", text("amqps://broker:7000")}}).config.place.origin() ==
        "amqps://broker:7000");
}

TEST_CASE("user, password and vhost may be given apart from the url") {
  const auto [config, problems] =
      read({{"username", text("relay")}, {"password", text("pass")}, {"vhost", text("sales")}});
  CHECK(problems == "");
  CHECK(config.username == "relay");
  CHECK(config.password == "pass");
  CHECK(config.vhost == "sales");
}

TEST_CASE("a message no queue takes is poison, waited over, or lost on purpose") {
  CHECK(read({{"unroutable", text("retry")}}).config.unroutable == Misrouted::retry);
  CHECK(read({{"unroutable", text("retry")}}).config.mandatory);
  CHECK_FALSE(read({{"unroutable", text("drop")}}).config.mandatory);
  CHECK(read({{"missing_exchange", text("poison")}}).config.missing_exchange == Misrouted::poison);
}

TEST_CASE("what is wrong is reported, and the url never quoted") {
  CHECK(complains({{"url", text("http://broker")}}, "must begin with amqp:// or amqps://"));
  CHECK(complains({{"url", text("amqp://broker/?heartbeat=5")}}, "a query"));
  CHECK_FALSE(complains({{"url", text("amqp://a:hush@broker:99999999/")}}, "hush"));
  CHECK(complains({{"url", text("amqp://a:b@broker")}, {"username", text("c")}}, "already"));
  CHECK(complains({{"exchange", text("")}}, "routing_key: is missing"));
  CHECK(complains({{"exchange", text("{{payload")}}, "exchange: "));
  CHECK(complains({{"routing_key", text("{{nobody}}")}}, "routing_key: "));
  CHECK(complains({{"in_flight", number(0)}}, "in_flight"));
  CHECK(complains({{"unroutable", text("ignore")}}, "\"drop\""));
  CHECK(complains({{"vhost", text(std::string(256, 'v').c_str())}}, "vhost: is over 255 bytes"));
  CHECK(complains({{"ca_file", text("/nonexistent")}}, "ca_file: cannot be read"));
  CHECK(complains({{"body", text("xml")}}, "body: "));
  CHECK(complains({{"exchang", text("x")}}, "did you mean \"exchange\"?"));
}

TEST_CASE("the kind is registered under its name, for whole batches") {
  HandlerRegistry registry;
  handlers::register_rabbitmq(registry);
  REQUIRE(registry.find("rabbitmq") != nullptr);
  CHECK(registry.find("rabbitmq")->takes_batches);
}

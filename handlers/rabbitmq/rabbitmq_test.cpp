// The rabbitmq handler on a real server: what it answers to whom, and what it leaves there.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "rabbitmq/rabbitmq_handler.hpp"
#include "support/call_checks.hpp"
#include "support/cannot_render.hpp"
#include "support/process.hpp"
#include "support/rabbitmq_client.hpp"
#include "support/rabbitmq_server.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;
using Misrouted = RabbitmqHandlerConfig::Misrouted;

namespace {

/// One for all cases, for it takes seconds to start.
RabbitmqServer& shared_server() {
  static RabbitmqServer server({.settings = "max_message_size = 60000\n"});
  return server;
}

/// A queue of its own, bound to an exchange of its own.
struct Stage {
  Stage() {
    static int number = 0;
    const auto tail = std::to_string(++number);
    queue = "queue-" + tail;
    exchange = "exchange-" + tail;
  }

  void prepare(const RabbitmqClient::Arguments& arguments = {}) {
    client.declare_queue(queue, arguments);
    client.declare_exchange(exchange, "topic");
    client.bind(queue, exchange, "booking.*");
  }
  [[nodiscard]] RabbitmqHandlerConfig config() const {
    RabbitmqHandlerConfig config;
    config.place = parse_service_url(server.url(), {"amqp", "amqps", "5672"}).place;
    config.exchange = exchange;
    config.routing_key = "{{event_type}}";
    return config;
  }
  /// "1 2 3 …" as readers see them.
  [[nodiscard]] std::string ids() {
    std::string ids;
    for (const auto& message : client.messages(queue)) {
      ids += (ids.empty() ? "" : " ") + message.header("id");
    }
    return ids;
  }

  RabbitmqServer& server = shared_server();
  RabbitmqClient client{server};
  std::string queue;
  std::string exchange;
};

constexpr auto rows = [](std::uint64_t first, std::uint64_t last, std::size_t payload_bytes = 20) {
  return numbered_rows(first, last, payload_bytes);
};

BatchOutcome deliver(const RabbitmqHandlerConfig& config, const std::vector<Record>& batch) {
  RabbitmqHandler handler(config);
  return testing::deliver(handler, batch);
}

}  // namespace

TEST_CASE("a message has the record's names as properties and headers, and is kept on disk") {
  Stage stage;
  stage.prepare();
  auto batch = rows(42, 43);
  batch[0].headers = {{"traceparent", "00-4bf9"}, {"seriatim-epoch", "forged"}, {"id", "forged"}};
  batch[0].late = true;
  batch[1].payload.reset();
  REQUIRE(all_done(deliver(stage.config(), batch), batch));
  const auto messages = stage.client.messages(stage.queue);
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].body == std::string(20, 'x'));
  CHECK(messages[0].exchange == stage.exchange);
  CHECK(messages[0].routing_key == "booking.created");
  const std::map<std::string, std::string> properties{
      {"content-type", "application/json"}, {"delivery-mode", "2"},      {"message-id", "42"},
      {"timestamp", "1700000000"},          {"type", "booking.created"}, {"app-id", "bookings"}};
  CHECK(messages[0].properties == properties);
  // RabbitMQ 4 hands them on in an order of its own.
  const auto& given = messages[0].headers;
  const std::multimap<std::string, std::string> headers{{"id", "42"},
                                                        {"event-type", "booking.created"},
                                                        {"key", "customer-7"},
                                                        {"seriatim-process", "bookings"},
                                                        {"seriatim-lane", "2"},
                                                        {"seriatim-sequence", "42"},
                                                        {"seriatim-epoch", "3"},
                                                        {"seriatim-late", "true"},
                                                        {"traceparent", "00-4bf9"}};
  CHECK(std::multimap<std::string, std::string>(given.begin(), given.end()) == headers);
  CHECK(messages[1].body == "");
  CHECK(messages[1].header("seriatim-payload") == "null");
}

TEST_CASE("CloudEvents go as headers, as an envelope, or a template takes their place") {
  Stage stage;
  stage.prepare();
  auto config = stage.config();
  config.form.body = MessageFormConfig::Body::cloudevents;
  REQUIRE(deliver(config, rows(1, 1)).done == 1);
  config.form.body = MessageFormConfig::Body::cloudevents_structured;
  REQUIRE(deliver(config, rows(2, 2)).done == 1);
  config.form = {MessageFormConfig::Body::rendered, "row {{id}}", "text/plain"};
  REQUIRE(deliver(config, rows(3, 3)).done == 1);
  const auto messages = stage.client.messages(stage.queue);
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].header("cloudEvents:source") == "seriatim:bookings");
  CHECK(messages[0].header("cloudEvents:type") == "booking.created");
  CHECK(messages[1].properties.at("content-type") == "application/cloudevents+json");
  CHECK(messages[1].body.find("\"source\":\"seriatim:bookings\"") != std::string::npos);
  CHECK(messages[2].body == "row 3");
  CHECK(messages[2].properties.at("content-type") == "text/plain");
}

TEST_CASE("a message no queue takes is found before any later row is sent") {
  Stage stage;
  stage.prepare();
  auto batch = rows(1, 60);
  batch[36].event_type = "refund.created";
  auto config = stage.config();
  SUBCASE("it halts") {
    RabbitmqHandler handler(config);
    const auto outcome = deliver(handler, batch);
    CHECK(outcome.done == 36);
    CHECK(fails(outcome, Kind::poison, "no queue takes it (NO_ROUTE)"));
    CHECK(stage.ids() == numbers_up_to(36));
  }
  SUBCASE("it waits for a queue") {
    config.unroutable = Misrouted::retry;
    RabbitmqHandler handler(config);
    const auto outcome = deliver(handler, batch);
    CHECK(outcome.done == 36);
    CHECK(fails(outcome, Kind::retry_later, "no queue takes it"));
    stage.client.bind(stage.queue, stage.exchange, "refund.#");
    const std::vector<Record> rest(batch.begin() + 36, batch.end());
    CHECK(all_done(deliver(handler, rest), rest));
    CHECK(stage.ids() == numbers_up_to(60));
  }
  SUBCASE("it is dropped where that is wanted") {
    config.mandatory = false;
    CHECK(all_done(deliver(config, batch), batch));
    CHECK(stage.client.count(stage.queue) == 59);
  }
}

TEST_CASE(
    "with routes that are not tried, rows behind one that no queue takes are there before it") {
  Stage stage;
  stage.prepare();
  auto batch = rows(1, 60);
  batch[36].event_type = "refund.created";
  auto config = stage.config();
  config.try_routes = false;
  RabbitmqHandler handler(config);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 36);
  CHECK(fails(outcome, Kind::poison, "no queue takes it"));
  CHECK(stage.client.count(stage.queue) == 59);
  config.in_flight = 1;
  RabbitmqHandler strict(config);
  CHECK(deliver(strict, batch).done == 36);
  CHECK(stage.client.count(stage.queue) == 59 + 36);
}

TEST_CASE("an exchange that is missing is waited for, or halts") {
  Stage stage;
  auto config = stage.config();
  SUBCASE("waited for") {
    RabbitmqHandler handler(config);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto outcome = deliver(handler, rows(1, 10));
      CHECK(outcome.done == 0);
      CHECK(fails(outcome, Kind::retry_later, "no exchange '" + stage.exchange + "'"));
    }
    stage.prepare();
    CHECK(all_done(deliver(handler, rows(1, 10)), rows(1, 10)));
    CHECK(stage.ids() == numbers_up_to(10));
  }
  SUBCASE("halts") {
    config.missing_exchange = Misrouted::poison;
    CHECK(fails(deliver(config, rows(1, 10)), Kind::poison, "no exchange"));
  }
}

TEST_CASE("the row over the server's limit is found among those that were sent with it") {
  Stage stage;
  stage.prepare();
  auto batch = rows(1, 60);
  batch[36].payload = std::string(60'001, 'x');
  RabbitmqHandler handler(stage.config());
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 36);
  CHECK(fails(outcome, Kind::poison, "larger than configured max size"));
  const std::vector<Record> rest(batch.begin() + 37, batch.end());
  REQUIRE(all_done(deliver(handler, rest), rest));
  const auto messages = stage.client.messages(stage.queue);
  CHECK(messages.size() <= 59 + 36);
  std::vector<std::string> seen;  // the rows before it may be there twice
  for (const auto& message : messages) {
    const auto id = message.header("id");
    if (std::find(seen.begin(), seen.end(), id) == seen.end()) seen.push_back(id);
  }
  REQUIRE(seen.size() == 59);
  CHECK(std::is_sorted(seen.begin(), seen.end(),
                       [](const auto& a, const auto& b) { return std::stoi(a) < std::stoi(b); }));
}

TEST_CASE("what no AMQP message can be is poison, and rows before it are done") {
  Stage stage;
  stage.prepare();
  auto batch = rows(1, 10);
  SUBCASE("an id of 256 bytes") {
    batch[5].position.id = std::string(256, 'x');
  }
  SUBCASE("no event type for the routing key") {
    batch[5].event_type.reset();
  }
  const auto outcome = deliver(stage.config(), batch);
  CHECK(outcome.done == 5);
  REQUIRE(outcome.next);
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(stage.ids() == numbers_up_to(5));
}

TEST_CASE("a full queue is waited for") {
  Stage stage;
  stage.prepare({{"x-max-length", "30"}, {"x-overflow", "reject-publish"}});
  RabbitmqHandler handler(stage.config());
  const auto outcome = deliver(handler, rows(1, 60));
  CHECK(outcome.done >= 30);  // the length is checked before it is counted
  CHECK(outcome.done < 40);
  CHECK(fails(outcome, Kind::retry_later, "basic.nack"));
  CHECK(stage.ids() == numbers_up_to(outcome.done));
  const auto next = outcome.done + 1;
  CHECK(fails(deliver(handler, rows(next, 60)), Kind::retry_later, "basic.nack"));
  while (stage.client.count(stage.queue) >= 30) stage.client.take_one(stage.queue);
  CHECK(deliver(handler, rows(next, 60)).done >= 1);
}

TEST_CASE(
    "rows on their way overtake one that a full queue refuses; from then on each travels alone") {
  Stage stage;
  stage.prepare();
  const auto full = stage.queue + "-full";
  stage.client.declare_queue(full, {{"x-max-length", "1"}, {"x-overflow", "reject-publish"}});
  stage.client.bind(full, stage.exchange, "full.*");
  auto batch = rows(1, 30);
  for (const std::size_t i : {1UL, 2UL, 5UL}) batch[i].event_type = "full.created";
  RabbitmqHandler handler(stage.config());
  const auto first = deliver(handler, batch);
  CHECK(fails(first, Kind::retry_later, "basic.nack"));
  CHECK(first.done < 6);
  CHECK(stage.client.count(stage.queue) == 27);  // all that go to the other queue
  batch.erase(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(first.done));
  for (int attempt = 0; attempt < 2; ++attempt) {
    CHECK(fails(deliver(handler, batch), Kind::retry_later, "basic.nack"));
    CHECK(stage.client.count(stage.queue) == 27);
  }
}

TEST_CASE("a server low on memory takes nothing; what is tried meanwhile leaves no copies behind") {
  Stage stage;
  stage.prepare();
  RabbitmqHandler handler(stage.config());
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  stage.server.control({"set_vm_memory_high_watermark", "absolute", "1"});
  const auto first = deliver(handler, rows(11, 20), 500ms);
  CHECK(fails(first, Kind::unknown, "the server takes no messages: low on memory"));
  const auto next = 11 + first.done;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto outcome = deliver(handler, rows(next, 20), 500ms);
    CHECK(outcome.done == 0);
    CHECK(fails(outcome, Kind::retry_later, "the server takes no messages: low on memory"));
  }
  stage.server.control({"set_vm_memory_high_watermark", "0.9"});
  CHECK(all_done(deliver(handler, rows(next, 20)), rows(next, 20)));
  const auto messages = stage.client.messages(stage.queue);
  CHECK(messages.back().header("id") == "20");
  CHECK(messages.size() <= 20 + 20 - first.done);
}

TEST_CASE("rows that were sent and not answered in time are unknown, and come again after that") {
  Stage stage;
  stage.prepare();
  RabbitmqHandler handler(stage.config());
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  stage.server.freeze();
  const auto outcome = deliver(handler, rows(11, 20), 200ms);
  stage.server.thaw();
  CHECK(outcome.done == 0);
  CHECK(fails(outcome, Kind::unknown, "no answer in time"));
  CHECK(all_done(deliver(handler, rows(11, 20)), rows(11, 20)));
  CHECK(stage.client.count(stage.queue) <= 30);
}

TEST_CASE("a connection the server closed meanwhile costs nothing") {
  Stage stage;
  stage.prepare();
  RabbitmqHandler handler(stage.config());
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  stage.server.control({"close_all_connections", "maintenance"});
  CHECK(all_done(deliver(handler, rows(11, 20)), rows(11, 20)));
  RabbitmqClient client(stage.server);
  CHECK(client.count(stage.queue) == 20);
}

TEST_CASE("a connection that was idle for long is left with a good-bye, for another") {
  Stage stage;
  stage.prepare();
  auto config = stage.config();
  config.idle_max = 0ms;
  const auto log = stage.server.log();
  const auto connections = [&] { return stage.server.control({"list_connections", "peer_port"}); };
  {
    RabbitmqHandler handler(config);
    REQUIRE(deliver(handler, rows(1, 1)).done == 1);
    const auto first = connections();
    REQUIRE(deliver(handler, rows(2, 2)).done == 1);
    CHECK(connections() != first);
  }
  CHECK(stage.ids() == "1 2");
  CHECK(stage.server.log().find("client unexpectedly closed", log.size()) == std::string::npos);
}

TEST_CASE("quorum queues and streams confirm too") {
  for (const char* type : {"quorum", "stream"}) {
    CAPTURE(type);
    Stage stage;
    stage.prepare({{"x-queue-type", type}});
    RabbitmqHandler handler(stage.config());
    CHECK(all_done(deliver(handler, rows(1, 300)), rows(1, 300)));
    if (std::string(type) == "quorum") CHECK(stage.ids() == numbers_up_to(300));
    stage.client.delete_queue(stage.queue);
  }
}

TEST_CASE("who may not log in or write is waited for, and no password is shown") {
  Stage stage;
  stage.prepare();
  stage.server.control({"add_user", "relay", "open sesame"});
  auto config = stage.config();
  config.username = "relay";
  config.password = "open barley";
  const auto refused = deliver(config, rows(1, 1));
  CHECK(fails(refused, Kind::retry_later, "ACCESS_REFUSED - Login was refused"));
  CHECK(refused.next->reason.find("barley") == std::string::npos);
  config.password = "open sesame";
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later, "access to vhost '/' refused"));
  stage.server.control({"set_permissions", "relay", ".*", "^$", ".*"});
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later, "ACCESS_REFUSED - "));
  stage.server.control({"set_permissions", "relay", "^$", "^" + stage.exchange + "$", "^$"});
  CHECK(all_done(deliver(config, rows(1, 100)), rows(1, 100)));
  config.vhost = "nowhere";
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later, "vhost nowhere not found"));
}

TEST_CASE("over TLS the server's certificate must be trusted") {
  const RabbitmqServer server({.tls = true});
  RabbitmqHandlerConfig config;
  config.place = parse_service_url(server.url(), {"amqp", "amqps", "5672", "5671"}).place;
  config.exchange = "amq.topic";
  config.routing_key = "anywhere";
  config.mandatory = false;
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later, "certificate refused"));
  config.ca_file = server.ca_file();
  RabbitmqHandler handler(config);
  CHECK(all_done(deliver(handler, rows(1, 500, 2'000)), rows(1, 500)));
  CHECK(all_done(deliver(handler, rows(501, 1'000)), rows(501, 1'000)));
}

TEST_CASE("a name that does not resolve and a port nobody listens on are waited for") {
  RabbitmqHandlerConfig config;
  SUBCASE("port") {
    config.place = parse_service_url("amqp://127.0.0.1:1", {"amqp", "", ""}).place;
  }
  SUBCASE("name") {
    config.place = parse_service_url("amqp://no-such-host.invalid", {"amqp", "", "5672"}).place;
  }
  RabbitmqHandler handler(config);
  const auto outcome = deliver(handler, rows(1, 1), 2s);
  CHECK(outcome.done == 0);
  CHECK(fails(outcome, Kind::retry_later, config.place.origin()));
}

TEST_CASE("the rendering of a row is the message that it becomes") {
  Stage stage;
  stage.prepare();
  auto batch = rows(42, 42);
  batch[0].headers = {{"traceparent", "00-4bf9"}};
  RabbitmqHandler handler(stage.config());
  const auto shown = handler.render(batch[0]).value();
  REQUIRE(all_done(testing::deliver(handler, batch), batch));
  const auto message = stage.client.messages(stage.queue).at(0);
  auto envelope = message.properties;
  envelope.erase("delivery-mode");
  envelope.insert({{"exchange", message.exchange}, {"routing_key", message.routing_key}});
  CHECK(std::map(shown.envelope.begin(), shown.envelope.end()) == envelope);
  CHECK(std::multimap(shown.headers.begin(), shown.headers.end()) ==
        std::multimap(message.headers.begin(), message.headers.end()));
  CHECK(shown.body == message.body);

  batch[0].position.id = std::string(300, 'x');  // longer than AMQP carries
  CHECK_THROWS_AS((void)handler.render(batch[0]), CannotRender);
}

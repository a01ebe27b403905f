// The nats handler on a real server: what it answers to whom, and what it leaves there.
#include <doctest/doctest.h>

#include <thread>

#include "nats/nats_handler.hpp"
#include "support/call_checks.hpp"
#include "support/nats_server.hpp"
#include "support/process.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* stream = "ROWS";

constexpr auto rows = [](std::uint64_t first, std::uint64_t last, std::size_t payload_bytes = 20) {
  return numbered_rows(first, last, payload_bytes);
};

/// "1 2 3 …" as readers see them; what is not ours is left out.
std::string ids_in(const NatsServer& server) {
  std::string ids;
  for (const auto& message : NatsClient(server).messages(stream)) {
    const auto id = message.header("id");
    if (!id.empty()) ids += (ids.empty() ? "" : " ") + id;
  }
  return ids;
}

/// How often another writer's message is right before a row, not the first of its batch.
std::size_t interruptions(const NatsServer& server, std::size_t batch_rows) {
  std::size_t found = 0;
  bool is_others = false;
  for (const auto& message : NatsClient(server).messages(stream)) {
    const auto id = message.header("id");
    if (is_others && !id.empty() && std::stoul(id) % batch_rows != 1) found += 1;
    is_others = id.empty();
  }
  return found;
}

NatsHandlerConfig config_for(const NatsServer& server) {
  NatsHandlerConfig config;
  config.place = parse_service_url(server.url(), {"nats", "tls", "4222"}).place;
  return config;
}

BatchOutcome deliver(const NatsHandlerConfig& config, const std::vector<Record>& batch) {
  NatsHandler handler(config);
  return testing::deliver(handler, batch);
}

}  // namespace

TEST_CASE("a row handed over again is no second message") {
  const NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>");
  REQUIRE(all_done(deliver(config_for(server), rows(1, 300)), rows(1, 300)));
  REQUIRE(all_done(deliver(config_for(server), rows(1, 300)), rows(1, 300)));
  NatsHandler handler(config_for(server));
  REQUIRE(all_done(deliver(handler, rows(201, 400)), rows(201, 400)));
  REQUIRE(all_done(deliver(handler, rows(201, 400)), rows(201, 400)));
  CHECK(ids_in(server) == numbers_up_to(400));
}

TEST_CASE("nothing overtakes a row whose subject no stream takes") {
  const NatsServer server;
  NatsClient client(server);
  auto config = config_for(server);
  config.subject = "{{event_type}}.{{lane}}";
  client.add_stream(stream, "booking.>");
  auto batch = rows(1, 60);
  batch[36].event_type = "refund.created";
  SUBCASE("it waits for one") {
    NatsHandler handler(config);
    const auto outcome = deliver(handler, batch);
    CHECK(outcome.done == 36);
    CHECK(fails(outcome, Kind::retry_later, "no stream takes the subject"));
    CHECK(ids_in(server) == numbers_up_to(36));
    client.add_stream("REFUNDS", "refund.>");
    const std::vector<Record> rest(batch.begin() + 36, batch.end());
    CHECK(all_done(deliver(handler, rest), rest));
    CHECK(client.count("REFUNDS") == 1);
    CHECK(client.count(stream) == 59);
  }
  SUBCASE("it halts where that is wanted") {
    config.missing_stream_is_poison = true;
    const auto outcome = deliver(config, batch);
    CHECK(outcome.done == 36);
    CHECK(fails(outcome, Kind::poison, "no stream takes the subject"));
  }
}

TEST_CASE("nothing overtakes a row over the stream's limit, unless messages name no predecessor") {
  const NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>", {.message_bytes_max = 60'000});
  auto batch = rows(1, 60);
  batch[36].payload = std::string(60'001, 'x');
  auto config = config_for(server);
  config.expect_last_message = false;
  SUBCASE("chained") {
    config.expect_last_message = true;
  }
  SUBCASE("not chained") {}
  const auto outcome = deliver(config, batch);
  CHECK(outcome.done == 36);
  CHECK(fails(outcome, Kind::poison, "message size exceeds maximum allowed"));
  CHECK(NatsClient(server).count(stream) == (config.expect_last_message ? 36 : 59));
}

TEST_CASE("a row over the server's limit is never sent") {
  const NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>");
  auto batch = rows(1, 10);
  batch[5].payload = std::string(4 << 20, 'x');
  NatsHandler handler(config_for(server));
  for (std::ptrdiff_t attempt = 0; attempt < 2; ++attempt) {
    const std::vector<Record> rest(batch.begin() + 5 * attempt, batch.end());
    const auto outcome = deliver(handler, rest);
    CHECK(outcome.done == static_cast<std::size_t>(5 - 5 * attempt));
    CHECK(fails(outcome, Kind::poison, "max_payload, 4000000 bytes"));
  }
  CHECK(ids_in(server) == numbers_up_to(5));
}

TEST_CASE("a full stream has the first rows and no later one, and is waited for") {
  const NatsServer server;
  NatsClient client(server);
  client.add_stream(stream, "bookings.>", {.messages_max = 30, .discard_new = true});
  NatsHandler handler(config_for(server));
  const auto outcome = deliver(handler, rows(1, 60));
  CHECK(outcome.done == 30);
  CHECK(fails(outcome, Kind::retry_later, "maximum messages exceeded"));
  CHECK(ids_in(server) == numbers_up_to(30));
  client.purge(stream);
  CHECK(all_done(deliver(handler, rows(31, 60)), rows(31, 60)));
  CHECK(client.messages(stream).front().header("id") == "31");
}

TEST_CASE("others may write into the stream meanwhile: the order is kept") {
  const NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>");
  constexpr std::size_t batch_rows = 500;
  std::jthread other([&](const std::stop_token& stop) {
    NatsClient client(server);
    while (!stop.stop_requested()) client.publish("bookings.other", "x");
  });
  NatsHandler handler(config_for(server));
  std::size_t there = 0;
  const auto is_interrupted = [&] {
    const auto batch = rows(there + 1, there + batch_rows);
    REQUIRE(all_done(deliver(handler, batch, 60s), batch));
    there += batch_rows;
    return interruptions(server, batch_rows) >= 10;
  };
  wait_until("the other's messages are in the midst of batches", is_interrupted, 120s);
  other.request_stop();
  other.join();
  CHECK((ids_in(server) == numbers_up_to(there)));  // in brackets: a failure prints no numbers
}

TEST_CASE("rows that each follow one of another stream are sent a few times, not by the window") {
  const NatsServer server;
  NatsClient client(server);
  client.add_stream(stream, "booking.>");
  client.add_stream("REFUNDS", "refund.>");
  client.listen("*.*.2");
  auto config = config_for(server);
  config.subject = "{{event_type}}.{{lane}}";
  NatsHandler handler(config);
  auto batch = rows(1, 600);
  for (std::size_t row = 0; row < batch.size(); row += 2) batch[row].event_type = "refund.created";
  CHECK(all_done(deliver(handler, batch, 60s), batch));
  CHECK(client.heard() >= batch.size());
  CHECK(client.heard() < 10 * batch.size());
  CHECK(client.count(stream) == 300);
  std::uint64_t next = 1;
  for (const auto& message : client.messages("REFUNDS")) {
    CHECK(message.header("id") == std::to_string(next));
    next += 2;
  }
  CHECK(next == 601);
}

TEST_CASE("what a server lost though it had acknowledged it is reported once, before a gap opens") {
  NatsServer server;
  NatsClient client(server);
  client.add_stream(stream, "bookings.>");
  NatsHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  client.delete_stream(stream);
  client.add_stream(stream, "bookings.>");
  server.stop();
  server.start();
  BatchOutcome outcome;
  wait_until("the library has seen that it was away, and it is there again", [&] {
    outcome = deliver(handler, rows(11, 12));
    return !outcome.next || outcome.next->kind == Kind::poison;
  });
  CHECK(outcome.done == 0);
  CHECK(fails(outcome, Kind::poison, "ends at 0, but 10 was acknowledged"));
  CHECK(deliver(handler, rows(11, 12)).done == 2);  // an operator's retry accepts it
}

TEST_CASE("a stream of another name is not taken for the one that is expected") {
  const NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>");
  auto config = config_for(server);
  config.stream = "OTHER";
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later, "expected stream does not match"));
  config.stream = stream;
  CHECK(all_done(deliver(config, rows(1, 100)), rows(1, 100)));
}

TEST_CASE("a server that was restarted meanwhile costs nothing") {
  NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>");
  NatsHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 100)).done == 100);
  server.stop();
  server.start();
  wait_until("the library has seen it", [&] {
    const auto outcome = deliver(handler, rows(101, 200));
    return outcome.done == 100;
  });
  CHECK(ids_in(server) == numbers_up_to(200));
}

TEST_CASE("rows that were sent and not answered in time are unknown, and no second message after") {
  NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>");
  NatsHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  server.freeze();
  const auto outcome = deliver(handler, rows(11, 20), 200ms);
  server.thaw();
  CHECK(outcome.done == 0);
  CHECK(fails(outcome, Kind::unknown, "no answer in time"));
  CHECK(all_done(deliver(handler, rows(11, 20)), rows(11, 20)));
  CHECK(ids_in(server) == numbers_up_to(20));
}

TEST_CASE("who may not log in or publish is waited for, at once and without a secret shown") {
  const char* users =
      "authorization { users = ["
      "{ user: admin, password: admin },"
      "{ user: relay, password: \"open sesame\", permissions: { publish: \"$JS.API.>\" } } ] }\n";
  const NatsServer server({.settings = users});
  auto config = config_for(server);
  config.username = "relay";
  config.password = "open barley";
  const auto refused = deliver(config, rows(1, 1));
  CHECK(fails(refused, Kind::retry_later, "Authorization Violation"));
  CHECK(refused.next->reason.find("barley") == std::string::npos);
  config.password = "open sesame";
  const auto began = Clock::now();
  NatsHandler handler(config);
  CHECK(fails(deliver(handler, rows(1, 10), 120s), Kind::retry_later, "Permissions Violation"));
  CHECK(Clock::now() - began < 60s);
}

TEST_CASE("a server without JetStream is waited for") {
  const NatsServer server;
  CHECK(fails(deliver(config_for(server), rows(1, 1)), Kind::retry_later, "no stream takes"));
}

TEST_CASE("over TLS the server's certificate must be trusted, and be for its name") {
  const NatsServer server({.tls = true});
  auto config = config_for(server);
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later,
              "unable to get local issuer certificate"));
  config.ca_file = server.ca_file();
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later, "no stream takes"));
  config.place.host = "127.0.0.1";
  config.place.host_kind = Url::HostKind::address;
  CHECK(fails(deliver(config, rows(1, 1)), Kind::retry_later, "address mismatch"));
}

TEST_CASE("a name that does not resolve and a port nobody listens on are waited for") {
  const NatsServer server({.started = false});
  auto config = config_for(server);
  SUBCASE("port") {}
  SUBCASE("name") {
    config.place = parse_service_url("nats://no-such-host.invalid", {"nats", "tls", "4222"}).place;
  }
  NatsHandler handler(config);
  const auto outcome = deliver(handler, rows(1, 1), 2s);
  CHECK(outcome.done == 0);
  CHECK(fails(outcome, Kind::retry_later, config.place.origin()));
}

TEST_CASE("the rendering of a row is the message that it becomes") {
  const NatsServer server;
  NatsClient(server).add_stream(stream, "bookings.>");
  auto batch = rows(1, 1);
  batch[0].headers = {{"traceparent", "00-4bf9"}};
  NatsHandler handler(config_for(server));
  const auto shown = handler.render(batch[0]).value();
  REQUIRE(all_done(testing::deliver(handler, batch), batch));
  const auto message = NatsClient(server).messages(stream).at(0);
  CHECK(shown.envelope == std::vector<Header>{{"subject", message.subject}});
  CHECK(shown.body == message.body);
  for (const auto& [name, value] : shown.headers) {
    if (name != "Nats-Expected-Last-Msg-Id") CHECK(message.header(name) == value);
  }
  CHECK(shown.headers.size() == message.headers.size() + 1);
}

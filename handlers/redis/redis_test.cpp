// The redis handler on a real server: what it answers to whom, and what it leaves there.
#include <doctest/doctest.h>

#include "redis/redis_calls.hpp"
#include "support/process.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;
using Body = MessageFormConfig::Body;

TEST_CASE("an entry's id is the sequence number, its fields are the record") {
  const RedisServer server;
  auto batch = rows(42, 42);
  batch[0].headers = {{"traceparent", "00-4bf9"}};
  batch[0].late = true;
  REQUIRE(all_done(deliver(server, batch), batch));
  const auto entries = entries_of(server, stream);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].id == "42-0");
  const std::vector<std::pair<std::string, std::string>> fields{{"id", "row-42"},
                                                                {"seriatim-process", "bookings"},
                                                                {"seriatim-sequence", "42"},
                                                                {"seriatim-epoch", "3"},
                                                                {"seriatim-late", "true"},
                                                                {"event-type", "booking.created"},
                                                                {"key", "customer-7"},
                                                                {"payload", std::string(20, 'x')},
                                                                {"header:traceparent", "00-4bf9"}};
  CHECK(entries[0].fields == fields);
}

TEST_CASE("the payload takes the form that is asked for") {
  const RedisServer server;
  auto config = config_for(server);
  config.form.sends_content_type = true;
  auto batch = rows(1, 1);
  batch[0].payload = "{ \"seats\": 2 }";
  const auto entry = [&](Body body) {
    config.form.body = body;
    RedisHandler handler(config);
    REQUIRE(all_done(deliver(handler, batch), batch));
    return entries_of(server, stream).at(0);
  };
  SUBCASE("CloudEvents, binary: its attributes are fields next to the bytes as stored") {
    const auto found = entry(Body::cloudevents);
    CHECK(found.field("payload") == batch[0].payload);
    CHECK(found.field("content-type") == "application/json");
    CHECK(found.field("ce_specversion") == "1.0");
    CHECK(found.field("ce_id") == "row-1");
    CHECK(found.field("ce_source") == "seriatim:bookings");
    CHECK(found.field("ce_type") == "booking.created");
    CHECK(found.field("ce_subject") == "customer-7");
  }
  SUBCASE("CloudEvents, structured: the envelope is the payload") {
    const auto found = entry(Body::cloudevents_structured);
    CHECK(found.field("content-type") == "application/cloudevents+json");
    CHECK(found.field("payload")->starts_with("{\"specversion\":\"1.0\",\"id\":\"row-1\""));
    CHECK(found.field("payload")->ends_with("\"data\":{ \"seats\": 2 }}"));
    CHECK_FALSE(found.field("ce_id"));
  }
  SUBCASE("a template, also for a NULL payload") {
    config.form.body_template = "{{id}} of {{key}}";
    config.form.content_type = "text/plain";
    batch[0].payload.reset();
    const auto found = entry(Body::rendered);
    CHECK(found.field("payload") == "row-1 of customer-7");
    CHECK(found.field("content-type") == "text/plain");
  }
}

TEST_CASE("a row that cannot be rendered is poison, in the midst of rows on their way") {
  const RedisServer server;
  auto config = config_for(server);
  config.form.body = Body::rendered;
  config.form.body_template = "{{payload.seats}}";
  RedisHandler handler(config);
  auto batch = rows(1, 1'000);
  for (auto& record : batch) record.payload = "{\"seats\":2}";
  const std::vector<Record> first(batch.begin(), batch.begin() + 10);
  batch.erase(batch.begin(), batch.begin() + 10);
  batch[689].payload = "{}";
  REQUIRE(all_done(deliver(handler, first), first));
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 689);
  CHECK(says(outcome, "payload.seats"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(ids_in(server) == ids_up_to(699));
}

TEST_CASE("a server that cannot take rows now is waited for, by the name of its trouble") {
  struct Trouble {
    const char* says;
    std::vector<std::string> begins;
    std::vector<std::string> ends;
  };
  const std::vector<Trouble> troubles{
      {"OOM", {"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
      {"READONLY", {"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
      {"NOREPLICAS",
       {"CONFIG", "SET", "min-replicas-to-write", "1"},
       {"CONFIG", "SET", "min-replicas-to-write", "0"}},
      {"NOPERM", {"ACL", "SETUSER", "default", "-xadd"}, {"ACL", "SETUSER", "default", "+xadd"}},
      {"NOPERM", {"ACL", "SETUSER", "default", "-eval"}, {"ACL", "SETUSER", "default", "+eval"}}};
  const RedisServer server;
  RedisClient client(server);
  RedisHandler handler(config_for(server));
  std::uint64_t next = 1;
  for (const auto& trouble : troubles) {
    CAPTURE(trouble.says);
    client.run(trouble.begins);
    const auto batch = rows(next, next + 9);
    const auto outcome = deliver(handler, batch);
    CHECK(outcome.done == 0);
    CHECK(says(outcome, trouble.says));
    CHECK(outcome.next->kind == Kind::retry_later);
    client.run(trouble.ends);
    CHECK(all_done(deliver(handler, batch), batch));
    next += 10;
  }
  CHECK(ids_in(server) == ids_up_to(next - 1));
}

TEST_CASE("a key that is no stream is poison") {
  const RedisServer server;
  RedisClient(server).run({"SET", stream, "text"});
  const auto outcome = deliver(server, rows(1, 3));
  CHECK(outcome.done == 0);
  CHECK(says(outcome, "bookings:0 is not a stream"));
  CHECK(outcome.next->kind == Kind::poison);
}

TEST_CASE("a row of thousands of headers is a row like any other") {
  const RedisServer server;
  auto batch = rows(1, 5);
  for (int i = 0; i < 5'000; ++i) batch[3].headers.emplace_back(std::to_string(i), "x");
  for (const std::size_t i : {0UL, 4UL}) batch[i].headers = batch[3].headers;
  REQUIRE(all_done(deliver(server, batch), batch));
  REQUIRE(all_done(deliver(server, batch), batch));
  CHECK(ids_in(server) == ids_up_to(5));
}

TEST_CASE("what a server lost though it had acknowledged it is reported once, before a gap opens") {
  RedisServer server({.settings = {"--appendonly", "no"}});
  RedisHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  server.kill();
  server.start();
  const auto outcome = deliver(handler, rows(11, 12));
  CHECK(outcome.done == 0);
  CHECK(says(outcome, "ends at 0-0, but 10-0 was acknowledged"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(deliver(handler, rows(11, 12)).done == 2);  // an operator's retry accepts it
}

TEST_CASE("a connection the server closed meanwhile costs nothing") {
  const RedisServer server;
  RedisHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  RedisClient(server).run({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  CHECK(all_done(deliver(handler, rows(11, 20)), rows(11, 20)));
  RedisClient(server).run({"SCRIPT", "FLUSH"});
  CHECK(all_done(deliver(handler, rows(21, 30)), rows(21, 30)));
  CHECK(ids_in(server) == ids_up_to(30));
}

TEST_CASE("a stream is trimmed to maxlen, exactly or nearly") {
  const RedisServer server;
  auto config = config_for(server);
  config.maxlen = 50;
  SUBCASE("exactly") {
    config.trim_exactly = true;
    RedisHandler handler(config);
    REQUIRE(deliver(handler, rows(1, 500)).done == 500);
    CHECK(entries_of(server, stream).size() == 50);
    CHECK(entries_of(server, stream).front().id == "451-0");
  }
  SUBCASE("never by rows that are refused") {
    REQUIRE(deliver(server, rows(1, 100)).done == 100);
    auto strange = rows(1, 100);
    for (auto& record : strange) record.process = "other";
    config.stream = stream;
    RedisHandler handler(config);
    CHECK(says(deliver(handler, strange), "another record is at 1-0"));
    CHECK(entries_of(server, stream).size() == 100);
  }
  SUBCASE("nearly") {
    RedisHandler handler(config);
    REQUIRE(deliver(handler, rows(1, 500)).done == 500);
    CHECK(entries_of(server, stream).size() >= 50);
    CHECK(entries_of(server, stream).size() < 300);
  }
}

TEST_CASE("with wait_replicas a row is done when a replica has it, and not before") {
  const RedisServer server({.settings = {"--repl-diskless-sync-delay", "0"}});
  auto config = config_for(server);
  config.wait_replicas = 1;
  config.wait_timeout = 100ms;
  RedisHandler handler(config);
  const auto alone = deliver(handler, rows(1, 10));
  CHECK(alone.done == 0);
  CHECK(says(alone, "0 of 1 replicas"));
  CHECK(alone.next->kind == Kind::retry_later);

  RedisServer replica({.settings = {"--replicaof", "127.0.0.1 " + std::to_string(server.port())}});
  const auto repeat = rows(1, 10);
  wait_until("the replica follows", [&] { return deliver(handler, repeat).done == repeat.size(); });
  CHECK(ids_in(replica) == ids_up_to(10));

  replica.freeze();
  CHECK(deliver(handler, rows(11, 20)).done == 0);
  RedisHandler another(config);  // a repeat by a new connection must not pass for replicated
  CHECK(deliver(another, rows(11, 20)).done == 0);
  replica.thaw();
  const auto rest = rows(11, 20);
  wait_until("the replica follows again",
             [&] { return deliver(another, rest).done == rest.size(); });
  CHECK(ids_in(replica) == ids_up_to(20));
  CHECK(ids_in(server) == ids_up_to(20));
}

TEST_CASE("it logs in and selects its database; a wrong password waits and is never shown") {
  const RedisServer server({.settings = {"--requirepass", "open sesame"}});
  auto config = config_for(server);
  {
    RedisHandler handler(config);
    const auto outcome = deliver(handler, rows(1, 1));
    CHECK(says(outcome, "NOAUTH"));
    CHECK(outcome.next->kind == Kind::retry_later);
  }
  config.password = "open barley";
  {
    RedisHandler handler(config);
    const auto outcome = deliver(handler, rows(1, 1));
    CHECK(says(outcome, "WRONGPASS"));
    CHECK(outcome.next->reason.find("barley") == std::string::npos);
    CHECK(outcome.next->kind == Kind::retry_later);
  }
  config.password = "open sesame";
  config.username = "default";
  config.database = 3;
  RedisHandler handler(config);
  CHECK(deliver(handler, rows(1, 1)).done == 1);
  RedisClient client(server);
  client.run({"AUTH", "open sesame"});
  CHECK(client.run({"XLEN", stream}).str() == "0");
  client.run({"SELECT", "3"});
  CHECK(client.run({"XLEN", stream}).str() == "1");
}

TEST_CASE("the rights the README names are enough") {
  const RedisServer server({.settings = {"--repl-diskless-sync-delay", "0"}});
  const RedisServer replica(
      {.settings = {"--replicaof", "127.0.0.1 " + std::to_string(server.port())}});
  RedisClient(server).run({"ACL", "SETUSER", "relay", "on", ">secret", "~bookings:*", "+multi",
                           "+exec", "+eval", "+xadd", "+xrange", "+xtrim", "+xinfo", "+xsetid",
                           "+exists", "+wait", "+select"});
  auto config = config_for(server);
  config.username = "relay";
  config.password = "secret";
  config.maxlen = 10'000;
  config.wait_replicas = 1;
  const auto all = rows(1, 1'000);
  {
    RedisHandler handler(config);
    wait_until("the replica follows", [&] { return deliver(handler, all).done == all.size(); });
    CHECK(deliver(handler, rows(1'001, 2'000)).done == 1'000);
  }
  RedisHandler again(config);
  CHECK(deliver(again, rows(1'001, 3'000)).done == 2'000);
}

TEST_CASE("no row goes out where transactions are refused") {
  const RedisServer server;
  RedisClient client(server);
  for (const char* refused : {"multi", "exec"}) {
    CAPTURE(refused);
    client.run({"ACL", "SETUSER", "default", std::string("-") + refused});
    RedisHandler handler(config_for(server));
    const auto outcome = deliver(handler, rows(1, 10));
    CHECK(outcome.done == 0);
    CHECK(outcome.next->kind == Kind::retry_later);
    CHECK(says(outcome, "NOPERM"));
    client.run({"ACL", "SETUSER", "default", std::string("+") + refused});
    CHECK(ids_in(server).empty());
  }
}

TEST_CASE("over TLS the server's certificate must be trusted") {
  const RedisServer server({.tls = true});
  auto config = config_for(server);
  {
    RedisHandler stranger(config);
    const auto outcome = deliver(stranger, rows(1, 1));
    CHECK(says(outcome, "certificate refused"));
    CHECK(outcome.next->kind == Kind::retry_later);
  }
  config.ca_file = server.ca_file();
  RedisHandler handler(config);
  CHECK(all_done(deliver(handler, rows(1, 500)), rows(1, 500)));
  CHECK(all_done(deliver(handler, rows(501, 1'000)), rows(501, 1'000)));
}

TEST_CASE("a name that does not resolve and a port nobody listens on are waited for") {
  const RedisServer server({.started = false});
  auto config = config_for(server);
  SUBCASE("port") {}
  SUBCASE("name") {
    config.place =
        parse_service_url("redis://no-such-host.invalid", {"redis", "rediss", "6379"}).place;
  }
  RedisHandler handler(config);
  const auto outcome = deliver(handler, rows(1, 1), 2s);
  CHECK(outcome.done == 0);
  CHECK(says(outcome, config.place.origin()));
  CHECK(outcome.next->kind == Kind::retry_later);
}

TEST_CASE("the rendering of a row is the entry that it becomes") {
  const RedisServer server;
  auto config = config_for(server);
  config.form.body = Body::cloudevents;
  RedisHandler handler(config);
  auto batch = rows(1, 1);
  batch[0].headers = {{"traceparent", "00-4bf9"}};
  SUBCASE("with a payload") {}
  SUBCASE("without one") {
    batch[0].payload.reset();
  }
  const auto shown = handler.render(batch[0]).value();
  REQUIRE(all_done(deliver(handler, batch), batch));
  auto entry = entries_of(server, stream).at(0);
  CHECK(shown.envelope == std::vector<Header>{{"stream", stream}, {"entry", entry.id}});
  CHECK(shown.body == entry.field("payload"));
  std::erase_if(entry.fields, [](const auto& field) { return field.first == "payload"; });
  CHECK(shown.headers == entry.fields);
}

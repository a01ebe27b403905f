// What the redis handler's table may say, and what is reported when it is wrong.
#include "redis/redis_config.hpp"

#include <doctest/doctest.h>

#include "seriatim/handlers.hpp"
#include "support/handler_table.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;

namespace {

Read<RedisHandlerConfig> read(Values values) {
  return read_table(read_redis_config, std::move(values),
                    {{"url", text("redis://broker.example")}});
}

bool complains(const Values& values, std::string_view about) {
  return complains(read(values), about);
}

}  // namespace

TEST_CASE("a plain table needs a url and nothing else") {
  const auto [config, problems] = read({});
  CHECK(problems == "");
  CHECK(config.place.host == "broker.example");
  CHECK(config.place.port == "6379");
  CHECK_FALSE(config.place.tls);
  CHECK(config.password == "");
  CHECK(config.stream == "{{process}}:{{lane}}");
  CHECK_FALSE(config.stream_by_record);
  CHECK(config.maxlen == 0);
  CHECK(config.wait_replicas == 0);
}

TEST_CASE("the url holds who, where and which database") {
  const auto [config, problems] = read({{"url", text("rediss://relay:p%40ss@broker:7000/5")}});
  CHECK(problems == "");
  CHECK(config.place.tls);
  CHECK(config.place.origin() == "rediss://broker:7000");
  CHECK(config.username == "relay");
  CHECK(config.password == "p@ss");
  CHECK(config.database == 5);
  CHECK(read({{"url", text("redis://:secret@broker")}}).config.password == "secret");
}

TEST_CASE("credentials may be given apart from the url") {
  const auto [config, problems] = read({{"username", text("relay")}, {"password", text("pass")}});
  CHECK(problems == "");
  CHECK(config.username == "relay");
  CHECK(config.password == "pass");
}

TEST_CASE("a stream named by the record is distinguished from one of the whole lane") {
  CHECK_FALSE(read({{"stream", text("events:{{lane}}")}}).config.stream_by_record);
  CHECK(read({{"stream", text("{{event_type}}:{{lane}}")}}).config.stream_by_record);
  CHECK(read({{"stream", text("{{#late}}late{{/late}}{{lane}}")}}).config.stream_by_record);
}

TEST_CASE("the payload may take any form") {
  using Body = MessageFormConfig::Body;
  CHECK(read({}).config.form.body == Body::payload);
  CHECK(read({{"body", text("cloudevents")}}).config.form.body == Body::cloudevents);
  CHECK(read({{"template", text("{{id}}")}}).config.form.body == Body::rendered);
  CHECK(complains({{"body", text("fields")}}, "body: must be \"payload\""));
}

TEST_CASE("what is wrong is reported, and the url never quoted") {
  CHECK(complains({{"url", text("http://broker")}}, "must begin with redis:// or rediss://"));
  CHECK(complains({{"url", text("broker:6379")}}, "must have the form redis://"));
  CHECK(complains({{"url", text("redis://broker/bookings")}}, "the number of a database"));
  CHECK(complains({{"url", text("redis://broker/0?a=b")}}, "a query"));
  CHECK(complains({{"url", text("redis://:hush@broker:99999999/")}}, "port"));
  CHECK_FALSE(complains({{"url", text("redis://:hush@broker/x")}}, "hush"));
  CHECK(complains({{"url", text("redis://:a@broker")}, {"password", text("b")}}, "already"));
  CHECK(complains({{"username", text("relay")}}, "password: is missing"));
  CHECK(complains({{"stream", text("{{payload")}}, "stream: "));
  CHECK(complains({{"stream", text("")}}, "stream: must not be empty"));
  CHECK(complains({{"maxlen", number(-1)}}, "maxlen"));
  CHECK(complains({{"trim", text("exact")}}, "without maxlen"));
  CHECK(complains({{"trim", text("roughly")}, {"maxlen", number(9)}}, "\"approximate\""));
  CHECK(complains({{"wait_timeout", text("1s")}}, "without wait_replicas"));
  CHECK(complains({{"wait_replicas", number(1)}, {"wait_timeout", text("0ms")}}, "at least 1ms"));
  CHECK(complains({{"ca_file", text("/nonexistent")}}, "ca_file: cannot be read"));
  CHECK(complains({{"strem", text("x")}}, "did you mean \"stream\"?"));
}

TEST_CASE("the kind is registered under its name, for whole batches") {
  HandlerRegistry registry;
  handlers::register_redis(registry);
  REQUIRE(registry.find("redis") != nullptr);
  CHECK(registry.find("redis")->takes_batches);
}

// What the nats handler's table may say, and what is reported when it is wrong.
#include "nats/nats_config.hpp"

#include <doctest/doctest.h>

#include "seriatim/handlers.hpp"
#include "support/handler_table.hpp"

using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;

namespace {

Read<NatsHandlerConfig> read(Values values) {
  return read_table(read_nats_config, std::move(values), {{"url", text("nats://broker.example")}});
}

bool complains(const Values& values, std::string_view about) {
  return complains(read(values), about);
}

}  // namespace

TEST_CASE("a plain table needs a url and nothing else") {
  const auto [config, problems] = read({});
  CHECK(problems == "");
  CHECK(config.place.origin() == "nats://broker.example");
  CHECK(config.place.port == "4222");
  CHECK(config.subject == "{{process}}.{{lane}}");
  CHECK(config.stream == "");
  CHECK(config.expect_last_message);
  CHECK_FALSE(config.missing_stream_is_poison);
  CHECK(config.in_flight == 1'000);
}

TEST_CASE("the url holds where, and who: user and password, or a token") {
  const auto [config, problems] = read({{"url", text("tls://relay:p%40ss@broker:7000")}});
  CHECK(problems == "");
  CHECK(config.place.tls);
  CHECK(config.place.port == "7000");
  CHECK(config.username == "relay");
  CHECK(config.password == "p@ss");
  CHECK(config.token == "");
  CHECK(read({{"url", text("nats://s3cret@broker")}}).config.token == "s3cret");
  CHECK(read({{"url", text("nats://s3cret@broker")}}).config.username == "");
  CHECK(read({{"token", text("s3cret")}}).config.token == "s3cret");
}

TEST_CASE("what is wrong is reported, and the url never quoted") {
  CHECK(complains({{"url", text("http://broker")}}, "must begin with nats:// or tls://"));
  CHECK(complains({{"url", text("nats://broker/path")}}, "url: must not hold a path"));
  CHECK_FALSE(complains({{"url", text("nats://a:hush@broker:99999999")}}, "hush"));
  CHECK(complains({{"url", text("nats://a:b@broker")}, {"token", text("c")}}, "of no use"));
  CHECK(complains({{"username", text("relay")}}, "go together"));
  CHECK(complains({{"username", text("a")}, {"password", text("b")}, {"token", text("c")}},
                  "token: set one of"));
  CHECK(complains({{"subject", text("")}}, "subject: must not be empty"));
  CHECK(complains({{"subject", text("{{payload")}}, "subject: "));
  CHECK(complains({{"stream", text("A.B")}}, "stream: is no name of a stream"));
  CHECK(complains({{"missing_stream", text("halt")}}, "\"poison\""));
  CHECK(complains({{"in_flight", value(std::int64_t{0})}}, "in_flight"));
  CHECK(complains({{"ca_file", text("/nonexistent")}}, "ca_file: cannot be read"));
  CHECK(complains({{"credentials_file", text("/nonexistent")}}, "credentials_file: cannot be"));
  CHECK(complains({{"subjet", text("x")}}, "did you mean \"subject\"?"));
}

TEST_CASE("the kind is registered under its name, for whole batches") {
  HandlerRegistry registry;
  handlers::register_nats(registry);
  REQUIRE(registry.find("nats") != nullptr);
  CHECK(registry.find("nats")->takes_batches);
}

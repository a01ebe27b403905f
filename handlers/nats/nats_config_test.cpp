// What the nats handler's table may say, and what is told about it when it is wrong.
#include "nats/nats_config.hpp"

#include <doctest/doctest.h>

#include <map>

#include "seriatim/registry.hpp"

using namespace seriatim;
using namespace seriatim::handlers;

namespace seriatim {
void register_nats(HandlerRegistry& registry);
}

namespace {

using Value = Options::Value;
using Values = std::map<std::string, Value, std::less<>>;

Value value(auto data) {
  return {data, "seriatim.toml:9"};
}
Value text(const char* data) {
  return value(std::string(data));
}

struct Read {
  NatsHandlerConfig config;
  std::string problems;
};

Read read(Values values) {
  values.try_emplace("url", text("nats://broker.example"));
  const auto table = std::make_shared<Options::Table>(
      Options::Table{std::move(values), "seriatim.toml:8", "process.handler"});
  Problems problems;
  Options options(table, problems);
  Read out{read_nats_config(options), {}};
  options.finish();
  out.problems = problems.text();
  return out;
}

bool complains(const Values& values, std::string_view about) {
  const auto problems = read(values).problems;
  CAPTURE(problems);
  return problems.find(about) != std::string::npos;
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

TEST_CASE("what is wrong is told, and the url never quoted") {
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
  register_nats(registry);
  REQUIRE(registry.find("nats") != nullptr);
  CHECK(registry.find("nats")->takes_batches);
}

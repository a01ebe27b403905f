#include <doctest/doctest.h>

#include "app/config_file.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::app;

namespace {

AppConfig read(const std::string& section, Secrets& secrets) {
  static const HandlerRegistry registry;
  const auto variables = [](const std::string& name) -> std::optional<std::string> {
    return name == "DATABASE_URL" ? "postgresql://db/shop" : "0123456789-canary-key";
  };
  return read_config("[traces]\n" + section, "s.toml", {registry, variables, secrets});
}

std::string problems_of(const std::string& section) {
  Secrets secrets;
  try {
    read(section, secrets);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string url = "url = \"http://127.0.0.1:4318/v1/traces\"\n";

}  // namespace

TEST_SUITE("[traces]") {
  TEST_CASE("a url is enough") {
    Secrets secrets;
    const auto traces = read(url, secrets).traces;
    REQUIRE(traces);
    CHECK(traces->collector.url == "http://127.0.0.1:4318/v1/traces");
    CHECK(traces->relation == SpanRelation::child);
    CHECK(traces->service_name == "seriatim");
    CHECK(traces->collector.timeout == std::chrono::seconds(2));
  }

  TEST_CASE("every key reaches its member, and secrets in headers are learned") {
    Secrets secrets;
    const auto traces = read(url +
                                 "relation = \"link\"\nservice_name = \"shop\"\ntimeout = \"5s\"\n"
                                 "headers = { x-team = \"${KEY}\", authorization = "
                                 "\"Bearer canary-of-bearer\", x-tenant = \"prod\" }\n",
                             secrets)
                            .traces;
    REQUIRE(traces);
    CHECK(traces->relation == SpanRelation::link);
    CHECK(traces->service_name == "shop");
    CHECK(traces->collector.timeout == std::chrono::seconds(5));
    CHECK(traces->collector.headers.size() == 3);
    CHECK(secrets.redact("0123456789-canary-key canary-of-bearer prod") == "*** *** prod");
  }

  TEST_CASE("without the section nothing is traced") {
    static const HandlerRegistry registry;
    Secrets secrets;
    const auto config =
        read_config("[database]\nurl = \"postgresql://db/shop\"\n", "s.toml",
                    {registry, [](const std::string&) { return std::nullopt; }, secrets});
    CHECK_FALSE(config.traces);
  }

  TEST_CASE("a problem is named with its line") {
    CHECK(contains(problems_of(""), "url: is missing"));
    CHECK(contains(problems_of("url = \"http://127.0.0.1:4318\"\n"),
                   "s.toml:2: traces.url: has no path"));
    CHECK(contains(problems_of("url = \"grpc://127.0.0.1:4317/x\"\n"), "traces.url: "));
    CHECK_FALSE(contains(problems_of("url = \"http://u:canary@h/x\"\n"), "canary"));
    CHECK(contains(problems_of(url + "relation = \"parent\"\n"), "must be one of"));
    CHECK(contains(problems_of(url + "service_name = \"\"\n"), "service_name"));
    CHECK(contains(problems_of(url + "timeout = \"1h\"\n"), "timeout: must be between"));
    CHECK(contains(problems_of(url + "ca_file = \"/no/such/file\"\n"), "ca_file: cannot be read"));
    CHECK(contains(problems_of(url + "headers = { Host = \"x\" }\n"), "Host is set by seriatim"));
    CHECK(contains(problems_of(url + "headers = { \"a b\" = \"x\" }\n"), "headers: "));
    CHECK(contains(problems_of(url + "servic_name = \"x\"\n"), "did you mean \"service_name\"?"));
  }
}

// Handlers made in code: settings are read as a configuration file is.
#include "seriatim/registry.hpp"

#include <doctest/doctest.h>

#include "seriatim/error.hpp"

using namespace seriatim;
using namespace std::chrono_literals;

namespace {

/// What the kind of the tests below was configured with.
struct Seen {
  std::string url;
  std::chrono::milliseconds timeout{};
  std::int64_t retries = 0;
  bool sync = false;
  std::vector<std::string> topics;
  std::map<std::string, std::string> headers;
};

HandlerRegistry with_kind(Seen& seen) {
  HandlerRegistry registry;
  registry.add({"post", "for tests", [&seen](Options& options) -> HandlerFactory {
                  seen.url = options.required_text("url");
                  seen.timeout = options.duration("timeout", 1s);
                  seen.retries = options.integer("retries", 1, 0, 9);
                  seen.sync = options.flag("sync", false);
                  seen.topics = options.texts("topics");
                  seen.headers = options.text_table("headers");
                  return handler_from([](const Record&) { return Outcome::done(); });
                }});
  return registry;
}

std::string problems_of(const std::string& kind, const Settings& settings) {
  Seen seen;
  try {
    (void)with_kind(seen).make(kind, settings);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_SUITE("registry") {
  TEST_CASE("settings of every type reach the handler") {
    Seen seen;
    const auto make = with_kind(seen).make("post", {{"url", "https://pay.example"},
                                                    {"timeout", "5s"},
                                                    {"retries", 3},
                                                    {"sync", true},
                                                    {"topics", std::vector<std::string>{"a", "b"}},
                                                    {"headers", Settings{{"X-Shop", "7"}}}});
    CHECK(make(0) != nullptr);
    CHECK(seen.url == "https://pay.example");
    CHECK(seen.timeout == 5s);
    CHECK(seen.retries == 3);
    CHECK(seen.sync);
    CHECK(seen.topics == std::vector<std::string>{"a", "b"});
    CHECK(seen.headers.at("X-Shop") == "7");
  }

  TEST_CASE("one setting alone is a setting, and one that comes twice has its last value") {
    Seen seen;
    (void)with_kind(seen).make("post", {{"url", "first"}});
    CHECK(seen.url == "first");
    Settings settings{{"url", "first"}};
    settings.set("url", std::string("second"));
    (void)with_kind(seen).make("post", settings);
    CHECK(seen.url == "second");
  }

  TEST_CASE("every problem is named at once") {
    CHECK(problems_of("post", {{"timeuot", "5s"}, {"retries", 12}}) ==
          "settings: post.url: is missing\n"
          "settings: post.retries: must be a whole number from 0 to 9\n"
          "settings: post.timeuot: unknown key; did you mean \"timeout\"?");
  }

  TEST_CASE("a kind that is not registered is an error that names those that are") {
    CHECK(problems_of("fax", {}) == "no handler \"fax\"; there are \"post\"");
    HandlerRegistry empty;
    empty.leave_out("kafka", "librdkafka-dev");
    CHECK_THROWS_WITH_AS((void)empty.make("fax", {}), "no handler \"fax\"; none is registered",
                         ConfigError);
    CHECK_THROWS_WITH_AS((void)empty.make("kafka", {}),
                         "handler \"kafka\" was left out of this program: it needs librdkafka-dev; "
                         "install that and build again (./run build does both)",
                         ConfigError);
  }
}

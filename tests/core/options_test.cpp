#include "seriatim/options.hpp"

#include <doctest/doctest.h>

using namespace seriatim;
using namespace std::chrono_literals;

namespace {

using Data = decltype(Options::Value::data);

/// One-line tables: {key, value} pairs, each on line 7 of "f.toml".
Options options(const std::vector<std::pair<std::string, Data>>& values, Problems& problems) {
  auto table = std::make_shared<Options::Table>();
  table->where = "f.toml:1";
  table->path = "process.handler";
  for (const auto& [key, data] : values) table->values[key] = {data, "f.toml:7"};
  return {std::move(table), problems};
}

}  // namespace

TEST_SUITE("options") {
  TEST_CASE("values of the right type are read, absent ones give the fallback") {
    Problems problems;
    auto o = options(
        {{"url", "http://x"}, {"n", std::int64_t{5}}, {"on", true}, {"t", "5m"}, {"size", "64KiB"}},
        problems);
    CHECK(o.text("url") == "http://x");
    CHECK(o.integer("n", 1, 0, 10) == 5);
    CHECK(o.flag("on", false));
    CHECK(o.duration("t", 1s) == 5min);
    CHECK(o.bytes("size", 0) == 65'536);
    CHECK(o.text("absent", "fallback") == "fallback");
    CHECK(o.duration("gone", 3s) == 3s);
    o.finish();
    CHECK(problems.text() == "");
  }

  TEST_CASE("every problem is noted with file, line and key, and reading goes on") {
    Problems problems;
    auto o = options({{"url", true}, {"n", std::int64_t{11}}, {"t", "5 minutes"}, {"mode", "fast"}},
                     problems);
    o.text("url");
    o.integer("n", 1, 0, 10);
    o.duration("t", 1s);
    o.choice("mode", 0, {"slow", "quick"});
    o.required_text("to");
    REQUIRE(problems.lines().size() == 5);
    CHECK(problems.lines()[0] == "f.toml:7: process.handler.url: must be text in quotes");
    CHECK(problems.lines()[1] ==
          "f.toml:7: process.handler.n: must be a whole number from 0 to 10");
    CHECK(problems.lines()[3] ==
          "f.toml:7: process.handler.mode: must be one of \"slow\", \"quick\"");
    CHECK(problems.lines()[4] == "f.toml:1: process.handler.to: is missing");
  }

  TEST_CASE("an unknown key is an error that names the nearest known one") {
    Problems problems;
    auto o = options({{"ulr", "x"}, {"completely_else", "x"}}, problems);
    o.text("url");
    o.finish();
    REQUIRE(problems.lines().size() == 2);
    CHECK(problems.lines()[0] == "f.toml:7: process.handler.completely_else: unknown key");
    CHECK(problems.lines()[1] ==
          "f.toml:7: process.handler.ulr: unknown key; did you mean \"url\"?");
  }

  TEST_CASE("durations and sizes that overflow or lack a unit are refused") {
    for (const char* text :
         {"", "5", "-5s", "5w", "99999999999999999999s", "9223372036854775807h", "s"}) {
      CAPTURE(text);
      Problems problems;
      auto o = options({{"t", text}}, problems);
      CHECK(o.duration("t", 1s) == 1s);
      CHECK(problems.lines().size() == 1);
    }
  }
}

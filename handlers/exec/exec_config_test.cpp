// What a configuration may say, what a child answers, and what becomes of its standard error.
#include "exec/exec_config.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "exec/answer.hpp"
#include "exec/error_lines.hpp"
#include "seriatim/handlers.hpp"
#include "support/handler_calls.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using Kind = Outcome::Kind;

namespace {

using Values = std::map<std::string, decltype(Options::Value::data), std::less<>>;

struct Read {
  ExecHandlerConfig config;
  std::string problems;
};

Read read(const Values& values) {
  auto table = std::make_shared<Options::Table>();
  for (const auto& [key, data] : values) table->values.emplace(key, Options::Value{data, "t:1"});
  Problems problems;
  Options options(table, problems);
  auto config = read_exec_config(options);
  options.finish();
  return {std::move(config), problems.text()};
}

Options::List words(const std::vector<std::string>& texts) {
  Options::List list;
  for (const auto& text : texts) list.push_back({text, "t:1"});
  return list;
}

std::shared_ptr<Options::Table> variables(const std::map<std::string, std::string>& texts) {
  auto table = std::make_shared<Options::Table>();
  for (const auto& [name, value] : texts) table->values.emplace(name, Options::Value{value, "t:1"});
  return table;
}

bool complains(const Values& values, const std::string& text) {
  const auto problems = read(values).problems;
  CAPTURE(problems);
  return problems.find(text) != std::string::npos;
}

std::string line_of(const Record& record, PayloadForm form) {
  return record_line(record, form).take();
}

}  // namespace

TEST_CASE("every option reaches its member") {
  const auto [config, problems] = read({{"command", words({"python3", "handler.py"})},
                                        {"working_directory", "/srv"},
                                        {"environment", variables({{"API_KEY", "canary"}})},
                                        {"mode", "batch"},
                                        {"group_rows", std::int64_t{50}},
                                        {"payload", "text"},
                                        {"stop_grace", "3s"}});
  CHECK(problems == "");
  CHECK(config.command == std::vector<std::string>{"python3", "handler.py"});
  CHECK(config.working_directory == "/srv");
  CHECK(config.environment.at("API_KEY") == "canary");
  CHECK(config.batches);
  CHECK(config.group_rows == 50);
  CHECK(config.payload == PayloadForm::text);
  CHECK(config.stop_grace == 3s);
}

TEST_CASE("what cannot be meant is refused") {
  CHECK(complains({}, "command: is missing"));
  CHECK(complains({{"command", "python3 handler.py"}}, "command"));
  CHECK(complains({{"command", words({})}}, "names no program"));
  CHECK(complains({{"command", words({"x"})}, {"mode", "bulk"}}, "mode"));
  CHECK(complains({{"command", words({"x"})}, {"group_rows", std::int64_t{5}}},
                  "counts in mode = \"batch\" only"));
  CHECK(complains({{"command", words({"x"})}, {"payload", "xml"}}, "payload"));
  CHECK(complains({{"command", words({"x"})}, {"environment", variables({{"A=B", "c"}})}},
                  "cannot be a variable's name"));
  CHECK(complains({{"command", words({"x"})}, {"shell", true}}, "shell"));
}

TEST_CASE("only the mode of batches takes batches") {
  HandlerRegistry registry;
  handlers::register_exec(registry);
  for (const bool batch : {false, true}) {
    auto table = std::make_shared<Options::Table>();
    table->values.emplace("mode", Options::Value{std::string(batch ? "batch" : "single"), "t:1"});
    Problems problems;
    Options options(table, problems);
    CHECK(registry.find("exec")->takes_batches_if(options) == batch);
  }
}

TEST_CASE("a child finds its own variables and the harmless ones of ours") {
  ::setenv("EXEC_TEST_SECRET", "canary", 1);
  ExecHandlerConfig config;
  config.environment = {{"LANG", "C.UTF-8"}, {"OWN", "1"}};
  const auto variables = child_environment(config);
  const auto has = [&](const std::string& start) {
    return std::any_of(variables.begin(), variables.end(),
                       [&](const std::string& variable) { return variable.starts_with(start); });
  };
  CHECK(has("PATH="));
  CHECK(has("OWN=1"));
  CHECK(has("LANG=C.UTF-8"));
  CHECK_FALSE(has("EXEC_TEST_SECRET"));
  ::unsetenv("EXEC_TEST_SECRET");
}

TEST_CASE("answers are read") {
  CHECK(read_answer(R"({"id":"a\"1","outcome":"done"})").id == "a\"1");
  CHECK(read_answer(R"({"id":"1","outcome":"done","more":[1]})").outcome.is_done());
  const auto retry = read_answer(R"({"id":"1","outcome":"retry","reason":"busy","after":1.5})");
  CHECK(retry.outcome.kind == Kind::retry_later);
  CHECK(retry.outcome.reason == "busy");
  CHECK(retry.outcome.retry_after == 1'500ms);
  CHECK_FALSE(read_answer(R"({"id":"1","outcome":"retry","after":null})").outcome.retry_after);
  CHECK(read_answer(R"({"id":"1","outcome":"retry","after":1e300})").outcome.retry_after > 1h);
  CHECK(read_answer(R"({"id":"1","outcome":"poison"})").outcome.kind == Kind::poison);
  CHECK(read_answer(R"({"id":"1","outcome":"unknown"})").outcome.kind == Kind::unknown);
}

TEST_CASE("what is no answer is distinguished from one") {
  for (const char* line :
       {"", "done", "{", "[]", R"({"outcome":"done"})", R"({"id":1,"outcome":"done"})",
        R"({"id":"1"})", R"({"id":"1","outcome":"ok"})", R"({"id":"1","outcome":true})",
        R"({"id":"1","outcome":"retry","after":"5s"})",
        R"({"id":"1","outcome":"retry","after":-1})", R"({"id":"1","outcome":"done"} trailing)",
        "\xff\xfe"}) {
    CAPTURE(line);
    CHECK(read_answer(line).problem != "");
  }
}

TEST_CASE("the payload's form is as asked") {
  const auto json = testing::make_record("{\"a\":1}");
  CHECK(line_of(json, PayloadForm::json).ends_with(R"("payload":{"a":1}})"));
  CHECK(line_of(json, PayloadForm::text).ends_with(R"("payload_text":"{\"a\":1}"})"));
  CHECK(line_of(json, PayloadForm::base64).ends_with(R"("payload_base64":"eyJhIjoxfQ=="})"));
  CHECK(line_of(json, PayloadForm::none).find("payload") == std::string::npos);
  const auto bytes = testing::make_record("\xff");
  CHECK(line_of(bytes, PayloadForm::text).ends_with(R"("payload_base64":"/w=="})"));
}

TEST_CASE("standard error is reported line by line, long ones cut, floods thinned out") {
  std::vector<std::string> reported;
  ErrorLines lines([&](const std::string& line) { reported.push_back(line); });
  const ErrorLines::Clock::time_point start = ErrorLines::Clock::now();
  lines.feed("one\ntw", start);
  lines.feed("o\r\n\n  \nthree \x1b[31m", start);
  lines.finish(start);
  CHECK(reported == std::vector<std::string>{"one", "two", "three \\x1b[31m"});
  CHECK(lines.last() == "three \\x1b[31m");

  reported.clear();
  for (int i = 0; i < 100'000; ++i) lines.feed(std::string(100, 'x'), start + 2s);
  lines.feed("\n", start + 2s);
  REQUIRE(reported.size() == 1);
  CHECK(reported[0].size() <= ErrorLines::line_bytes_max);
  CHECK(reported[0].ends_with("…"));

  reported.clear();
  for (int i = 0; i < 1'000; ++i) lines.feed("flood\n", start + 4s);
  CHECK(reported.size() == ErrorLines::lines_a_second_max);
  lines.feed("later\n", start + 6s);
  REQUIRE(reported.size() == ErrorLines::lines_a_second_max + 2);
  CHECK(reported[reported.size() - 2] == "900 lines left out: more than 100 a second");
  CHECK(reported.back() == "later");
}

// What the http handler's table may say, and what is reported when it is wrong.
#include <doctest/doctest.h>

#include <algorithm>

#include "http/http_config.hpp"
#include "seriatim/handlers.hpp"
#include "support/handler_table.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;

namespace {

Read<HttpHandlerConfig> read(Values values) {
  return read_table(read_http_config, std::move(values), {{"url", text("https://hook.example/x")}});
}

bool complains(const Values& values, std::string_view about) {
  return complains(read(values), about);
}

}  // namespace

TEST_CASE("a plain table needs a url and nothing else") {
  const auto [config, problems] = read({});
  CHECK(problems == "");
  CHECK(config.target.url == "https://hook.example/x");
  CHECK(config.form.body == MessageFormConfig::Body::payload);
  CHECK(config.form.content_type == "application/json");
  CHECK(config.target.pass_headers == std::vector<std::string>{"traceparent", "tracestate"});
  CHECK(!config.target.client.allow_private);
  CHECK(config.target.client.keep_alive);
}

TEST_CASE("every key is read") {
  auto headers = std::make_shared<Options::Table>();
  headers->values["X-Tenant"] = text("t");
  const auto [config, problems] = read({{"url", text("http://127.0.0.1:1/{{id}}")},
                                        {"body", text("hello {{id}}")},
                                        {"content_type", text("text/plain")},
                                        {"headers", value(headers)},
                                        {"pass_headers", value(Options::List{text("x-a")})},
                                        {"secret", text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")},
                                        {"token", text("tok")},
                                        {"timeout", text("5s")},
                                        {"connect_timeout", text("700ms")},
                                        {"ca_file", text("/dev/null")},
                                        {"allow_private", value(true)},
                                        {"keep_alive", value(false)}});
  CHECK(problems == "");
  CHECK(config.form.body == MessageFormConfig::Body::rendered);
  CHECK(config.form.body_template == "hello {{id}}");
  CHECK(config.target.headers == std::vector<Header>{{"X-Tenant", "t"}});
  CHECK(config.target.pass_headers.back() == "x-a");
  CHECK(config.secrets.size() == 1);
  CHECK(config.target.timeout == 5s);
  CHECK(config.target.client.connect_timeout == 700ms);
  CHECK(config.target.client.allow_private);
  CHECK(!config.target.client.keep_alive);
}

TEST_CASE("the body is chosen by name") {
  using Body = MessageFormConfig::Body;
  CHECK(read({{"body", text("cloudevents")}}).config.form.body == Body::cloudevents);
  CHECK(read({{"body", text("cloudevents-structured")}}).config.form.body ==
        Body::cloudevents_structured);
  CHECK(read({{"template", text("plain")}}).config.form.body == Body::rendered);
  CHECK(complains({{"body", text("cloud")}}, "body"));
  CHECK(complains({{"body", text("{{id}}")}, {"template", text("x")}}, "either template or body"));
  CHECK(complains({{"body", text("{{paylod.x}}")}}, "{{paylod.x}}"));
  CHECK(complains({{"template", text("{{#payload}}")}}, "template"));
}

TEST_CASE("a target that would be refused is reported before anything starts") {
  for (const auto* url : {"http://127.0.0.1/", "http://localhost./", "http://169.254.169.254/",
                          "http://[::ffff:127.0.0.1]/", "http://[fd00:ec2::254]/"}) {
    CHECK(complains({{"url", text(url)}}, "allow_private"));
    CHECK(!complains({{"url", text(url)}, {"allow_private", value(true)}}, "url"));
  }
  for (const auto* url :
       {"ftp://a/", "http://u:canary@a/", "http://2130706433/", "http://0x7f.1/",
        "https://{{payload.host}}/", "https://a.{{key}}:443", "https://a/{{{id}}}",
        "https://a/{{nosuch}}", "https://a/{{id", "no url"}) {
    CAPTURE(std::string(url));
    CHECK(complains({{"url", text(url)}}, "url"));
    CHECK(!complains({{"url", text(url)}}, "canary"));
  }
}

TEST_CASE("wrong secrets, headers and files are reported without being quoted") {
  CHECK(complains({{"secret", text("canary")}}, "secret"));
  CHECK(!complains({{"secret", text("canary")}}, "canary"));
  for (const auto* key : {"secret", "token", "username"}) CHECK(complains({{key, text("")}}, key));
  CHECK(complains({{"password", text("canary")}}, "needs a username"));
  CHECK(!complains({{"password", text("canary")}}, "canary"));
  CHECK(complains({{"ca_file", text("/no/such/file")}}, "/no/such/file"));
  CHECK(complains({{"content_type", text("a\r\nb")}}, "content_type"));
  CHECK(complains({{"username", text("a:b")}}, "username"));
  CHECK(complains({{"username", text("a")}, {"token", text("b")}}, "either token or username"));
  for (const auto* name : {"Host", "content-length", "Seriatim-Lane", "webhook-id", "a b", ""}) {
    auto headers = std::make_shared<Options::Table>();
    headers->values[name] = text("x");
    CHECK(complains({{"headers", value(headers)}}, "headers"));
  }
}

TEST_CASE("a key nobody knows is a problem") {
  CHECK(complains({{"methode", text("post")}}, "methode"));
}

TEST_CASE("the kind is registered and makes one handler a lane") {
  HandlerRegistry registry;
  handlers::register_http(registry);
  const auto* kind = registry.find("http");
  REQUIRE(kind != nullptr);
  const auto table = std::make_shared<Options::Table>(Options::Table{
      {{"url", text("https://hook.example/")}}, "seriatim.toml:8", "process.handler"});
  Problems problems;
  Options options(table, problems);
  const auto factory = kind->configure(options);
  CHECK(problems.empty());
  CHECK(factory(0) != factory(1));
}

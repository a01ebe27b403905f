// FAULTS 54: secrets of URL, configuration and environment are in no log, error, ps or database
// text. Each case first makes sure that the secret was there to be shown.
#include <unistd.h>

#include <utility>

#include "cli/canary_stage.hpp"
#include "support/certificates.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// In both formats, at the level that says most.
Ended run_and_drain(const CanaryStage& stage, const std::string& format = "text") {
  return stage.seriatim({"run", "--drain", "--log-level", "debug", "--log-format", format});
}

/// What a relay that keeps retrying says until `text` is in its log.
std::string log_until(const CanaryStage& stage, const std::string& text,
                      const std::string& format) {
  Process relay(Stage::command({"run", "--log-level", "debug", "--log-format", format}),
                stage.options());
  relay.wait_for_errors(text);
  relay.signal(15);
  const auto ended = relay.wait();
  check_silent(ended.out);
  return ended.err;
}

void check_every_verb(const CanaryStage& stage) {
  for (const auto* verb : {"check", "status", "init"}) {
    check_silent(stage.seriatim({verb}));
    check_silent(stage.seriatim({verb, "--json"}));
  }
  check_silent(stage.seriatim({"peek", "p", "--payload"}));
  check_silent(stage.seriatim({"peek", "p", "--json"}));
  for (const auto& form : {std::vector<std::string>{"preview", "p"}, {"preview", "p", "--json"}}) {
    const auto preview = stage.seriatim(form);
    CHECK(contains(preview.out, "***"));
    check_silent(preview);
  }
  check_silent(stage.seriatim({"skip", "p", "99", "--reason", "x"}));
  check_silent(stage.seriatim({"pause", "p"}));
  check_silent(stage.seriatim({"resume", "p"}));
  check_silent(stage.seriatim({"retry", "p"}));
}

std::string arguments_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline");
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_SUITE("canary secrets") {
  TEST_CASE("a receiver that repeats all secrets gets them into no log, status or table") {
    CanaryStage stage;
    std::string credentials;
    SUBCASE("token") {
      credentials = "token = \"canary-bearer\"";
    }
    SUBCASE("password") {
      credentials = "username = \"robot\"\npassword = \"canary-basic\"";
    }
    stage.configure(stage.role.url(), stage.handler(credentials));
    for (const auto* format : {"text", "json"}) {
      check_silent(log_until(stage, "echo: ", format));
      const auto status = stage.seriatim({"status", "--json"});
      CHECK(contains(status.out, "echo: "));
      check_silent(status);
      check_silent(stage.database_text());
      stage.retry_at_once();
    }
    const auto sent = stage.receiver.last_request();
    CHECK(sings(sent.target));
    CHECK(sings(sent.header("Authorization").value_or("")));
    CHECK(sings(sent.header("X-Api-Key").value_or("")));
    CHECK(contains(stage.database_text(), "echo: "));
    check_every_verb(stage);
    check_silent(stage.database_text());
  }

  TEST_CASE("a halt shows none, in any command, and neither does its row in the journal") {
    CanaryStage stage;
    stage.receiver.push(Reply::with_status(422, "echo: canary-bearer canary-tenant canary-path"));
    stage.configure(stage.role.keywords(), stage.handler("token = \"canary-bearer\""));
    const auto ended = run_and_drain(stage, "json");
    CHECK(ended.code == 3);
    CHECK(contains(ended.err, "echo: "));
    check_silent(ended);
    CHECK(contains(stage.seriatim({"status"}).out, "echo: "));
    check_every_verb(stage);
    CHECK(contains(stage.database_text(), "echo: "));
    check_silent(stage.database_text());
  }

  TEST_CASE("a receiver whose certificate does not hold gets none into its reports") {
    CanaryStage stage;
    const auto certificate = self_signed({.dns_names = {}, .ip_addresses = {"127.0.0.1"}});
    HttpService imposter({.certificate = certificate.certificate, .key = certificate.key});
    stage.configure(
        stage.role.url(),
        "kind = \"http\"\nallow_private = true\nurl = \"https://robot:canary@127.0.0.1:" +
            std::to_string(imposter.port()) + "/\"");
    check_silent(run_and_drain(stage));  // a URL with a password is none of ours
    stage.configure(stage.role.url(),
                    "kind = \"http\"\nallow_private = true\nurl = \"https://127.0.0.1:" +
                        std::to_string(imposter.port()) +
                        "/canary-canary-canary/${HOOK_TOKEN}\"\ntoken = \"canary-bearer\"");
    for (const auto* format : {"text", "json"}) {
      const auto ended = run_and_drain(stage, format);
      CHECK(ended.code == 3);
      CHECK(contains(ended.err, "certificate"));
      check_silent(ended);
    }
    check_silent(stage.database_text());
  }

  TEST_CASE("a database that refuses the password does not make us show it") {
    CanaryStage stage;
    const std::string good = "kind = \"log\"";
    for (const auto& url : {stage.role.url(), stage.role.keywords()}) {
      stage.configure(url, good);
      const auto ended = stage.seriatim({"init"});
      CAPTURE(ended.err);
      REQUIRE(ended.code == 0);  // the password is asked for, and right
    }
    const auto with_parameter =
        stage.role.url_without_password() + "?password=canary%20wrong&application_name=x";
    for (const auto& url :
         {stage.role.url("canary-wrong"), stage.role.url("canary%40wrong"),
          stage.role.keywords("canary wrong"), with_parameter, stage.role.url_without_password()}) {
      CAPTURE(url);
      stage.configure(url, good);
      for (const auto* format : {"text", "json"}) {
        const auto ended = run_and_drain(stage, format);
        CHECK(ended.code == 1);
        CHECK(contains(ended.err, "password authentication failed"));
        check_silent(ended);
      }
      for (const auto* verb : {"check", "status", "init"}) check_silent(stage.seriatim({verb}));
      check_silent(log_until(stage, "waiting for the database", "text"));
    }
  }

  TEST_CASE("a database that cannot be reached, or not with TLS, does neither") {
    CanaryStage stage;
    for (const auto& attempt :
         {std::pair<std::string, const char*>{"postgresql://me:canary@127.0.0.1:1/x", "refused"},
          {"host=127.0.0.1 port=1 user=me password=canary", "refused"},
          {"postgresql://me:canary@no-such-host.invalid/x", "no-such-host.invalid"},
          {stage.role.url() + "?sslmode=require", "SSL"},
          {stage.role.url() + "?sslmode=verify-full&sslpassword=canary-key", "SSL"}}) {
      const auto& url = attempt.first;
      CAPTURE(url);
      stage.configure(url, "kind = \"log\"");
      for (const auto* format : {"text", "json"}) {
        const auto ended = run_and_drain(stage, format);
        CHECK(ended.code == 1);
        CHECK(contains(ended.err, attempt.second));
        check_silent(ended);
        check_silent(log_until(stage, "waiting for the database", format));
      }
      check_silent(stage.seriatim({"status", "--json"}));
    }
  }

  TEST_CASE("a broken URL or configuration is quoted without them") {
    const CanaryStage stage;
    for (const auto* url : {"postgresql://me:ca/nary-canary@h/x", "postgresql:/me:canary@h/x",
                            "host=h password=canary port=canary", "postgresql://me:canary@[::1/x",
                            "postgresql://me:canary@h:canary/x",
                            "postgresql://me@h/x?password=canary&nonsense=canary", "canary"}) {
      CAPTURE(url);
      stage.configure(url, "kind = \"log\"");
      const auto ended = run_and_drain(stage);
      CHECK(ended.code == 1);
      CHECK_FALSE(ended.err.empty());
      check_silent(ended);
      CHECK_FALSE(contains(ended.err, "nary"));
    }
    for (const auto* handler :
         {"url = \"http://u:canary@h/\"", "url = \"http:/u:canary@h/\"",
          "url = \"http://[canary/\"\ntoken = \"canary\"",
          "url = \"http://h/\"\nsecret = \"canary\"", "url = \"http://h/\"\ntoken = [\"canary\"]",
          "url = \"http://h/\"\nsecrets = [\"whsec_canary!\"]",
          "url = \"http://h/\"\npassword = \"canary\"",
          "url = \"http://h/\"\nheaders = { X-Token = \"canary\\r\\nX: y\" }",
          "url = \"http://h/\"\nheaders = { \"X Token\" = \"canary\" }",
          "url = \"http://h/\"\nheaders = \"Authorization: canary\"",
          "url = \"http://h/\"\nusername = \"can:ary\"\npassword = \"canary\"",
          "url = \"http://h/\"\ntokn = \"canary\"", "url = \"http://h/\"\ntoken = \"canary",
          "url = \"http://h/\"\ntoken = canary", "url = \"http://h/${HOOK_PASSWORD\"",
          "url = \"http://h/\"\ntoken = \"${HOOK_TOKEN-canary}\""}) {
      CAPTURE(handler);
      stage.configure("postgresql://127.0.0.1:1/x", std::string("kind = \"http\"\n") + handler);
      const auto ended = run_and_drain(stage);
      CHECK(ended.code == 2);
      CHECK(contains(ended.err, "seriatim.toml"));
      check_silent(ended);
    }
  }

  TEST_CASE("ps and the server's list of sessions show none while a call is in flight") {
    CanaryStage stage;
    stage.receiver.reply_with(Reply::doing(Reply::Act::hang));
    stage.configure(stage.role.url(), stage.handler("token = \"canary-bearer\""));
    Process relay(Stage::command({"run"}), stage.options());
    REQUIRE(stage.receiver.wait_for_requests(1, 20s));
    CHECK(contains(arguments_of(relay.pid()), "run"));
    check_silent(arguments_of(relay.pid()));
    CHECK(contains(stage.database_text(), "seriatim/p"));
    check_silent(stage.database_text());
  }
}

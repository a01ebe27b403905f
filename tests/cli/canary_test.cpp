// FAULTS 54: secrets of URL, configuration and environment are in no output of any command.
#include <doctest/doctest.h>

#include "cli/stage.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* canary = "canary";

/// Every place a secret can stand holds a value with the word in it.
struct CanaryStage : Stage {
  CanaryStage() {
    const auto at = database.url().find("@");
    const auto with_password =
        database.url().substr(0, at) + ":canary-database" + database.url().substr(at);
    std::ofstream(folder.path() / "seriatim.toml")
        << "[database]\nurl = \"" << with_password << "\"\n"
        << process("kind = \"http\"\nallow_private = true\nurl = \"" +
                   receiver.url("/${HOOK_TOKEN}") +
                   "\"\nsecret = \"${HOOK_SECRET}\"\ntoken = \"canary-bearer\"\n"
                   "headers = { X-Api-Key = \"canary-header\" }");
    append();
  }
  [[nodiscard]] Ended seriatim(const std::vector<std::string>& arguments) const {
    auto options = Stage::options();
    options.environment["HOOK_SECRET"] = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5";
    options.environment["HOOK_TOKEN"] = "canary-path";
    options.environment["PGPASSWORD"] = "canary-pgpassword";
    return run(command(arguments), options);
  }
  HttpReceiver receiver;
};

void check_silent(const Ended& ended) {
  for (const auto& text : {ended.out, ended.err}) {
    CAPTURE(text);
    CHECK_FALSE(contains(text, canary));
    CHECK_FALSE(contains(text, "Y2FuYXJ5"));
  }
}

}  // namespace

TEST_SUITE("canary secrets") {
  TEST_CASE("no command shows one, whether it works or fails") {
    CanaryStage stage;
    stage.receiver.push(Reply::with_status(500, "internal"));
    stage.receiver.push(Reply::with_status(400, "your token was canary-bearer"));
    for (const auto* format : {"text", "json"}) {
      check_silent(
          stage.seriatim({"run", "--drain", "--log-level", "debug", "--log-format", format}));
    }
    CHECK(stage.receiver.request_count() >= 2);
    for (const auto* verb : {"check", "status", "init"}) {
      check_silent(stage.seriatim({verb}));
      check_silent(stage.seriatim({verb, "--json"}));
    }
    check_silent(stage.seriatim({"peek", "p"}));
    check_silent(stage.seriatim({"skip", "p", "99", "--reason", "x"}));
    check_silent(stage.seriatim({"pause", "p"}));
    stage.receiver.push(Reply::doing(Reply::Act::reset_before_answer));
    check_silent(stage.seriatim({"retry", "p"}));
    check_silent(stage.seriatim({"run", "--drain", "--log-level", "debug"}));
  }

  TEST_CASE("a broken URL or configuration shows none either") {
    const Stage stage;
    for (const auto* url : {"postgresql://me:canary@127.0.0.1:1/x", "postgresql://me:ca/nary@h/x",
                            "postgresql:/me:canary@h/x", "host=h password=canary port=canary",
                            "postgresql://me:canary@[::1/x", "canary"}) {
      CAPTURE(url);
      std::ofstream(stage.folder.path() / "seriatim.toml")
          << "[database]\nurl = \"" << url << "\"\n"
          << Stage::process(
                 "kind = \"http\"\nurl = \"http://u:canary@h/\"\nsecret = \"canary\"\n"
                 "token = [\"canary\"]\nsecrets = [\"canary\"]");
      check_silent(stage.seriatim({"run", "--drain"}));
      std::ofstream(stage.folder.path() / "seriatim.toml")
          << "[database]\nurl = \"" << url << "\"\n"
          << Stage::process("kind = \"log\"");
      const auto ended = stage.seriatim({"run", "--drain"});
      CHECK(ended.code == 1);
      CHECK_FALSE(contains(ended.err, "canary"));
      CHECK_FALSE(contains(ended.err, "nary@"));
    }
  }

  TEST_CASE("the environment and ps show no more than the user put there") {
    CanaryStage stage;
    stage.receiver.reply_with(Reply::doing(Reply::Act::hang));
    Process relay(Stage::command({"run"}), [&] {
      auto options = stage.options();
      options.environment["HOOK_SECRET"] = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5";
      options.environment["HOOK_TOKEN"] = "canary-path";
      return options;
    }());
    REQUIRE(stage.receiver.wait_for_requests(1, 20s));
    std::ifstream in("/proc/" + std::to_string(relay.pid()) + "/cmdline");
    const std::string arguments{std::istreambuf_iterator<char>(in), {}};
    CHECK_FALSE(arguments.empty());
    CHECK_FALSE(contains(arguments, canary));
    CHECK(stage.database.value("SELECT count(*) FROM pg_stat_activity"
                               " WHERE application_name || query LIKE '%canary-%'"
                               "   AND pid <> pg_backend_pid()") == "0");
  }
}

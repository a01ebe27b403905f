// `[console]` of the configuration.
#include "app/console_section.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "app/config_texts.hpp"

using namespace seriatim;
using namespace seriatim::app;

TEST_CASE("the console listens on loopback unless the network is said to be trusted") {
  CHECK_FALSE(read(process_with("")).console);
  const auto config = read("[console]\n" + process_with(""));
  REQUIRE(config.console);
  CHECK(config.console->listen.address == "127.0.0.1");
  CHECK(config.console->listen.port == 8642);
  const auto open = read(
      "[console]\nlisten = \"[::]:80\"\ntoken = \"canary-token-canary-token\"\nplain = true\n"
      "probes = \"0.0.0.0:81\"\nhosts = [\"relay\"]\n" +
      process_with(""));
  CHECK(open.console->listen.address == "::");
  CHECK(open.console->probes->port == 81);
  CHECK(open.console->hosts == std::vector<std::string>{"relay"});
  CHECK(open.hash != config.hash);
}

TEST_CASE("the console knows its users, its proxy and its certificate") {
  const auto console = *read(
                            "[console]\nlisten = \"0.0.0.0:8642\"\n"
                            "token = \"canary-token-canary-token\"\n"
                            "tls_certificate = \"c.pem\"\ntls_key = \"k.pem\"\n"
                            "payload = \"masked\"\nshow = [\"payload.type\"]\n"
                            "[[console.user]]\nname = \"alice\"\nrole = \"operator\"\n"
                            "token = \"alice-token-alice-token\"\n"
                            "[[console.user]]\nname = \"victor\"\n"
                            "[console.proxy]\nfrom = [\"10.0.0.5/32\", \"fd00::/8\"]\n"
                            "secret = \"proxy-secret-proxy-secret\"\n" +
                            process_with(""))
                            .console;
  REQUIRE(console.users.size() == 3);
  CHECK(console.users[0].name == "operator");
  CHECK(console.users[0].role == console::Role::operator_);
  CHECK(console.users[1].name == "alice");
  CHECK(console.users[1].role == console::Role::operator_);
  CHECK(console.users[2].role == console::Role::viewer);  // has no token: the proxy knows him
  CHECK(console.tls->key_file == "k.pem");
  CHECK(console.proxy->from.size() == 2);
  CHECK(console.proxy->user_header == "X-Forwarded-User");
  CHECK(console.masked);
  CHECK(console.show == std::vector<std::string>{"payload.type"});
  const auto socket = read("[console]\nlisten = \"unix:/run/s.sock\"\n" + process_with(""));
  CHECK(socket.console->listen.unix_path == "/run/s.sock");
}

TEST_CASE(
    "27: an address that others can reach needs a token or a proxy, and TLS, a proxy or plain") {
  const std::string open = "[console]\nlisten = \"0.0.0.0:8642\"\n";
  const std::string token = "token = \"canary-token-canary-token\"\n";
  const std::string tls = "tls_certificate = \"c.pem\"\ntls_key = \"k.pem\"\n";
  const std::string proxy =
      "[console.proxy]\nfrom = [\"10.0.0.5/32\"]\nsecret = \"proxy-secret-proxy-secret\"\n";
  for (const auto& sound : {token + tls, token + "plain = true\n", proxy, token + tls + proxy}) {
    CHECK(read(open + sound + process_with("")).console);
  }
  for (const auto& unsound : {std::string(), token, tls, tls + "plain = true\n"}) {
    CAPTURE(unsound);
    CHECK_THROWS_WITH_AS(read(open + unsound + process_with("")),
                         doctest::Contains("an address that others can reach needs `token`"),
                         ConfigError);
  }
}

// Which Host headers name this server.
#include "console/host_rule.hpp"

#include <doctest/doctest.h>

using namespace seriatim::console;

TEST_SUITE("host rule") {
  TEST_CASE("our address, localhost and configured names are ours, with any port") {
    const std::vector<std::string> hosts{"Relay.Example"};
    for (const char* host :
         {"127.0.0.1", "127.0.0.1:8642", "localhost:1", "LOCALHOST", "relay.example:8642"}) {
      CAPTURE(host);
      CHECK(judge_host(host, "127.0.0.1", hosts) == HostVerdict::ours);
    }
    CHECK(judge_host("[::1]:8642", "::1", {}) == HostVerdict::ours);
    CHECK(judge_host("10.0.0.5:8643", "::ffff:10.0.0.5", {}) == HostVerdict::ours);
    CHECK(judge_host("10.0.0.9", "172.17.0.2", {"10.0.0.9"}) == HostVerdict::ours);
  }

  TEST_CASE("other names and addresses are foreign: a page may have pointed its name here") {
    for (const char* host :
         {"evil.example", "127.0.0.2", "10.0.0.1:8642", "localhost.evil.example", "[::1]"}) {
      CAPTURE(host);
      CHECK(judge_host(host, "127.0.0.1", {}) == HostVerdict::foreign);
    }
  }

  TEST_CASE("what is no host at all is malformed") {
    for (const char* host : {"", ":8642", "user@127.0.0.1", "127.0.0.1:x", "[::1", "a b",
                             "127.0.0.1, evil.example", "127.0.0.1/x"}) {
      CAPTURE(host);
      CHECK(judge_host(host, "127.0.0.1", {}) == HostVerdict::malformed);
    }
  }
}

// Requests that are too long, too slow or ambiguous: attacks 21 to 24 (security_test.cpp has the
// others).
#include <doctest/doctest.h>

#include <algorithm>

#include "console/console_stage.hpp"

using namespace seriatim;
using namespace seriatim::console;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

const std::string acts_path = "/api/v1/processes/p/acts";
const std::string retry_body = R"({"act":"retry","lane":0})";

}  // namespace

TEST_SUITE("limits of the console") {
  TEST_CASE("21: a gigabyte before the token is refused, and nothing of it is read") {
    ConsoleStage stage;
    const auto head = "POST " + acts_path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
    CHECK(stage.raw(head + "1000000000\r\n\r\n").status == 413);
    CHECK(stage.raw(head + "5000\r\n\r\n").status == 413);
    CHECK(stage.raw(head + "70000\r\nAuthorization: Bearer " + alice_token + "\r\n\r\n").status ==
          413);
    auto large = Ask::post(acts_path, retry_body + std::string(60'000, ' '), alice_token);
    CHECK(stage.ask(large).status == 200);
    CHECK(stage.ask(large.without("Authorization")).status == 413);
  }

  TEST_CASE("22: chunks without end are refused") {
    ConsoleStage stage;
    for (const auto& token : {std::string(), alice_token}) {
      auto client = client_of(*stage.server);
      client.send("POST " + acts_path +
                  " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" +
                  (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n");
      std::string chunks;
      for (int i = 0; i < (token.empty() ? 5 : 65); ++i) {
        chunks += "400\r\n" + std::string(1024, 'x') + "\r\n";
      }
      client.send(chunks);
      CHECK(reply_of(client.rest()).status == 413);
    }
  }

  TEST_CASE("23: a thousand slow sockets hold up neither a probe nor one who has shown a token") {
    HttpServer::Settings settings;
    settings.limits.request = 2s;
    ConsoleStage stage(all_users(), settings);
    auto known = client_of(*stage.server);
    const auto keep = "GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                      alice_token + "\r\n\r\n";
    known.send(keep);
    (void)known.until("\"host:1\"}");
    std::vector<TcpClient> slow;
    slow.reserve(1000);
    auto worst = 0ns;
    for (int i = 0; i < 1000; ++i) {
      slow.push_back(client_of(*stage.server));
      slow.back().send("GET / HTTP/1.1\r\nX: ");
      if (i % 100 != 99) continue;
      const auto begin = std::chrono::steady_clock::now();
      CHECK(stage.ask(Ask::get("/livez")).status == 200);
      worst = std::max<std::chrono::nanoseconds>(worst, std::chrono::steady_clock::now() - begin);
    }
    CHECK(worst < 1s);  // 100 ms on a machine that does nothing else
    known.send(keep);
    CHECK(known.until("\"host:1\"}").find("200 OK") != std::string::npos);
    CHECK(reply_of(slow.back().rest()).status == 408);
  }

  TEST_CASE("24: a length together with chunks is refused, and the connection closed") {
    ConsoleStage stage;
    const auto reply = stage.raw("POST " + acts_path +
                                 " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n"
                                 "Host: localhost\r\n\r\n");
    CHECK(reply.status == 400);
    CHECK(reply.body.find("HTTP/1.1") == std::string::npos);
  }
}

// The HTTP server of the console: its limits, and that nobody makes another wait.
#include "console/http_server.hpp"

#include <doctest/doctest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <latch>
#include <optional>
#include <stdexcept>
#include <thread>

#include "console/probe_client.hpp"
#include "seriatim/error.hpp"

using namespace seriatim::console;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;

namespace {

HttpResponse fine(const HttpRequest& request) {
  return {200, "fine " + request.query};
}

std::vector<HttpRoute> routes() {
  return {{"/fine", fine, false},
          {"/slow", fine, true},
          {"/broken", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("why"); },
           true}};
}

/// A client that writes what it likes.
class Client {
 public:
  explicit Client(const HttpServer& server) : socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), server.port()});
  }
  void send(const std::string& text) { boost::asio::write(socket_, boost::asio::buffer(text)); }
  /// Until the server closes.
  std::string rest() {
    std::string text;
    boost::system::error_code ended;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(text), ended);
    return text;
  }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_;
};

std::string answer_to(const HttpServer& server, const std::string& request) {
  Client client(server);
  client.send(request);
  return client.rest();
}

std::string status_of(const std::string& answer) {
  return answer.substr(0, answer.find("\r\n"));
}

std::string get(const std::string& target, const std::string& more = "Host: localhost\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + more + "Connection: close\r\n\r\n";
}

}  // namespace

TEST_SUITE("http server") {
  TEST_CASE("a route answers with its query, HEAD without the body, and others are not there") {
    const HttpServer server({}, routes());
    CHECK(ask("127.0.0.1", server.port(), "/fine?a=1", 5s).body == "fine a=1");
    CHECK(ask("127.0.0.1", server.port(), "/slow", 5s).status == 200);
    CHECK(ask("127.0.0.1", server.port(), "/fine/", 5s).status == 404);
    CHECK(ask("127.0.0.1", server.port(), "/broken", 5s).status == 500);
    const auto head =
        answer_to(server, "HEAD /fine HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    CHECK(status_of(head) == "HTTP/1.1 200 OK");
    CHECK(head.find("Content-Length: 5\r\n") != std::string::npos);
    CHECK(head.ends_with("\r\n\r\n"));
    const auto posted = answer_to(
        server,
        "POST /fine HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    CHECK(status_of(posted) == "HTTP/1.1 405 Method Not Allowed");
    CHECK(posted.find("Allow: GET, HEAD\r\n") != std::string::npos);
  }

  TEST_CASE("two requests use one connection") {
    const HttpServer server({}, routes());
    Client client(server);
    client.send("GET /fine?1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/fine?2"));
    const auto both = client.rest();
    CHECK(both.find("fine 1") < both.find("fine 2"));
    CHECK(both.ends_with("fine 2"));
  }

  TEST_CASE("a Host that is foreign, doubled or missing is refused") {
    const HttpServer server({}, routes());
    CHECK(status_of(answer_to(server, get("/fine", "Host: evil.example\r\n"))) ==
          "HTTP/1.1 403 Forbidden");
    CHECK(status_of(answer_to(server, get("/fine", "Host: localhost\r\nHost: localhost\r\n"))) ==
          "HTTP/1.1 400 Bad Request");
    CHECK(status_of(answer_to(server, get("/fine", ""))) == "HTTP/1.1 400 Bad Request");
  }

  TEST_CASE("what is too long, too slow or no HTTP is refused, and the connection closed") {
    HttpServer::Settings settings;
    settings.limits.request = 300ms;
    const HttpServer server(settings, routes());
    const std::string host = "Host: localhost\r\n";
    CHECK(status_of(
              answer_to(server, get("/fine", host + "X: " + std::string(20'000, 'x') + "\r\n"))) ==
          "HTTP/1.1 431 Request Header Fields Too Large");
    CHECK(status_of(answer_to(
              server, "POST /fine HTTP/1.1\r\n" + host + "Content-Length: 1000000000\r\n\r\n")) ==
          "HTTP/1.1 413 Payload Too Large");
    CHECK(status_of(answer_to(server, "POST /fine HTTP/1.1\r\n" + host +
                                          "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                                          "0\r\n\r\n")) == "HTTP/1.1 400 Bad Request");
    CHECK(status_of(answer_to(server, "nonsense\r\n\r\n")) == "HTTP/1.1 400 Bad Request");
    CHECK(status_of(answer_to(server, "GET /fine HTTP/1.1\r\n")) == "HTTP/1.1 408 Request Timeout");
  }

  TEST_CASE("an answer that takes long holds up no other") {
    std::latch let_go(1);
    std::latch asked(1);
    auto all = routes();
    all.push_back({"/wait",
                   [&](const HttpRequest&) {
                     asked.count_down();
                     let_go.wait();
                     return HttpResponse{200, "at last"};
                   },
                   true});
    const HttpServer server({}, std::move(all));
    Client waiting(server);
    waiting.send(get("/wait"));
    asked.wait();
    CHECK(ask("127.0.0.1", server.port(), "/fine", 5s).status == 200);
    CHECK(ask("127.0.0.1", server.port(), "/slow", 5s).status == 200);  // by the other worker
    let_go.count_down();
    CHECK(waiting.rest().ends_with("at last"));
  }

  TEST_CASE("a thousand silent connections cost 64 at most, and a probe is answered among them") {
    const HttpServer server({}, routes());
    std::vector<std::unique_ptr<Client>> silent;
    for (int i = 0; i < 1000; ++i) {
      silent.push_back(std::make_unique<Client>(server));
      silent.back()->send("GET /fine HTTP/1.1\r\nX: ");
      if (i % 100 == 0) CHECK(ask("127.0.0.1", server.port(), "/fine", 5s).status == 200);
    }
    CHECK(ask("127.0.0.1", server.port(), "/fine", 5s).status == 200);
    CHECK(silent.front()->rest().empty());  // made room
  }

  TEST_CASE("a server ends while clients are connected and answers are being given") {
    std::latch asked(1);
    std::optional<Client> idle;
    auto all = routes();
    all.push_back({"/wait",
                   [&](const HttpRequest&) {
                     asked.count_down();
                     (void)idle->rest();  // until the server has begun to end
                     return HttpResponse{200, "late"};
                   },
                   true});
    std::optional<HttpServer> server(std::in_place, HttpServer::Settings{}, std::move(all));
    idle.emplace(*server);
    Client waiting(*server);
    waiting.send(get("/wait"));
    asked.wait();
    server.reset();
    CHECK(idle->rest().empty());
  }

  TEST_CASE("an address that is taken is named") {
    const HttpServer first({}, routes());
    HttpServer::Settings same;
    same.port = first.port();
    CHECK_THROWS_WITH_AS(HttpServer(same, routes()),
                         ("cannot listen on 127.0.0.1:" + std::to_string(first.port()) +
                          ": Address already in use; name another address or port in [console]")
                             .c_str(),
                         seriatim::Error);
  }
}

// The service itself, with the plainest client there is: other tests, torture and bench trust it.
#include "lab/http/http_service.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "support/certificates.hpp"

using namespace std::chrono_literals;
using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class Client {
 public:
  explicit Client(unsigned short port) {
    socket_.connect({asio::ip::address_v4::loopback(), port});
  }

  void send(std::string_view text) { asio::write(socket_, asio::buffer(text)); }
  void post(std::string_view body) {
    send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + std::string(body));
  }
  /// What came up to `end`; what follows it is kept for the next call.
  std::string read_until(std::string_view end) {
    boost::system::error_code error;
    const auto n = asio::read_until(socket_, asio::dynamic_buffer(text_), end, error);
    if (error) return "closed: " + text_;
    auto read = text_.substr(0, n);
    text_.erase(0, n);
    return read;
  }
  std::string read_all() {
    boost::system::error_code error;
    asio::read(socket_, asio::dynamic_buffer(text_), error);
    return text_;
  }

 private:
  asio::io_context context_;  // never run
  tcp::socket socket_{context_};
  std::string text_;
};

}  // namespace

TEST_CASE("a request is recorded byte for byte and its connection is kept") {
  HttpService service;
  Client client(service.port());
  client.post("one");
  CHECK(client.read_until("\r\n\r\n") == "HTTP/1.1 200 Said\r\nContent-Length: 0\r\n\r\n");
  client.post(std::string("t\0o", 3));
  client.read_until("\r\n\r\n");
  REQUIRE(service.wait_for_requests(2, 5s));
  CHECK(service.requests()[0].body == "one");
  CHECK(service.requests()[1].body == std::string("t\0o", 3));
  CHECK(service.requests()[1].target == "/x");
  CHECK(service.requests()[1].header("host") == "a");
  CHECK(service.connections_accepted() == 1);
}

TEST_CASE("queued replies come first, then the responder's") {
  HttpService service;
  service.push({Reply::with_status(500), Reply::with_status(429)});
  service.reply_with([](const ReceivedRequest& request) {
    return Reply::with_status(201, "got " + request.body);
  });
  Client client(service.port());
  client.post("a");
  CHECK(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 500"));
  client.post("b");
  CHECK(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 429"));
  client.post("c");
  CHECK(client.read_until("got c").starts_with("HTTP/1.1 201"));
}

TEST_CASE("chunked, trickled and filled answers arrive whole") {
  HttpService service;
  Reply reply = Reply::with_status(200, "twelve bytes");
  reply.chunked = true;
  reply.byte_interval = 1ms;
  service.push(reply);
  Client client(service.port());
  client.post("");
  CHECK(client.read_until("0\r\n\r\n").ends_with("7\r\ntwelve \r\n5\r\nbytes\r\n0\r\n\r\n"));

  Reply filled;
  filled.filler_bytes = 100'000;
  filled.close_after = true;
  service.push(filled);
  client.post("");
  CHECK(client.read_all().size() > 100'000);
}

TEST_CASE("a service that records nothing answers just the same") {
  HttpService service({.record = false});
  Client client(service.port());
  client.post("one");
  client.post("two");
  for (int i = 0; i < 2; ++i) CHECK(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
  service.reply_with([](const ReceivedRequest& request) {
    return Reply::with_status(201, "got " + request.body);
  });
  client.post("three");
  CHECK(client.read_until("got three").starts_with("HTTP/1.1 201"));
  service.push(Reply::with_status(500));
  client.post("four");
  CHECK(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 500"));
  CHECK(service.request_count() == 0);
}

TEST_CASE("one connection or one byte too many ends the connection") {
  HttpService service({.connections_max = 1, .request_bytes_max = 1'000});
  Client client(service.port());
  client.post("x");
  client.read_until("\r\n\r\n");
  CHECK(Client(service.port()).read_all().empty());
  client.post(std::string(2'000, 'x'));
  CHECK(client.read_all().empty());
  CHECK(service.request_count() == 1);
}

TEST_CASE("a connection ends after the answer if the request says so") {
  HttpService service;
  Client client(service.port());
  client.send("GET / HTTP/1.1\r\nconnection: close\r\n\r\n");
  CHECK(client.read_all().starts_with("HTTP/1.1 200"));
}

TEST_CASE("a service set to hang, close or reset never answers") {
  HttpService service;
  for (const auto act : {Reply::Act::close_before_answer, Reply::Act::reset_before_answer}) {
    service.push(Reply::doing(act));
    Client client(service.port());
    client.post("x");
    CHECK(client.read_all().empty());
  }
  service.push(Reply::doing(Reply::Act::hang));
  Client client(service.port());
  client.post("x");
  REQUIRE(service.wait_for_requests(3, 5s));
  service.close_connections();
  CHECK(client.read_all().empty());
  CHECK(service.wait_for_open(0, 5s));
}

TEST_CASE("an answer can come before the body was read") {
  HttpService service;
  auto reply = Reply::with_status(413);
  reply.act = Reply::Act::answer_before_body;
  service.push(reply);
  Client client(service.port());
  client.send("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
  CHECK(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 413"));
}

TEST_CASE("certificates are made for the names asked") {
  const CertificateAuthority authority;
  CHECK(authority.certificate().starts_with("-----BEGIN CERTIFICATE"));
  const auto leaf = authority.issue({.dns_names = {"a.example"}, .ip_addresses = {"127.0.0.1"}});
  CHECK(leaf.certificate.starts_with("-----BEGIN CERTIFICATE"));
  CHECK(leaf.key.find("PRIVATE KEY") != std::string::npos);
  CHECK_NOTHROW(HttpService({.certificate = leaf.certificate, .key = leaf.key}));
}

// A connection that carries more than its answers: what came unasked answers no request.
#include <doctest/doctest.h>

#include "lab/http/http_service.hpp"
#include "support/certificates.hpp"
#include "support/http_client.hpp"
#include "support/process.hpp"

#include <fstream>

using namespace std::chrono_literals;
using namespace seriatim::handlers;
using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

const std::string late_yes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

HttpClientConfig loopback() {
  HttpClientConfig config;
  config.allow_private = true;
  return config;
}

int post(HttpClient& client, const HttpService& receiver) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  const auto result = client.post({parse_url(receiver.url()), {}, "{}"}, deadline);
  const auto* answer = std::get_if<HttpAnswer>(&result);
  return answer ? answer->status : 0;
}

}  // namespace

TEST_CASE("a second answer that comes before the next request does not answer it") {
  HttpService receiver;
  HttpClient client(loopback());
  receiver.push({Reply::with_status(200), Reply::with_status(422)});
  CHECK(post(client, receiver) == 200);
  receiver.say_unasked(late_yes);
  CHECK(post(client, receiver) == 422);
  CHECK(receiver.connections_accepted() == 2);
}

TEST_CASE("a second answer behind the first does not answer the next request") {
  HttpService receiver;
  HttpClient client(loopback());
  auto twice = Reply::with_status(200);
  twice.unasked = late_yes;
  receiver.push({twice, Reply::with_status(422)});
  CHECK(post(client, receiver) == 200);
  CHECK(post(client, receiver) == 422);
  CHECK(receiver.connections_accepted() == 2);
}

TEST_CASE("over TLS a second answer does not answer the next request either") {
  const CertificateAuthority authority;
  const auto leaf = authority.issue({.ip_addresses = {"127.0.0.1"}});
  HttpService receiver({.certificate = leaf.certificate, .key = leaf.key});
  const TemporaryFolder folder;
  auto config = loopback();
  config.ca_file = folder.path() / "ca.pem";
  std::ofstream(config.ca_file) << authority.certificate();
  HttpClient client(config);
  CHECK(post(client, receiver) == 200);
  CHECK(post(client, receiver) == 200);
  CHECK(receiver.connections_accepted() == 1);
  auto twice = Reply::with_status(200);
  twice.unasked = late_yes;
  receiver.push({twice, Reply::with_status(422)});
  CHECK(post(client, receiver) == 200);
  CHECK(post(client, receiver) == 422);
  CHECK(receiver.connections_accepted() == 2);
}

TEST_CASE("keep_alive = false: a connection a request, and the receiver is asked to close it") {
  HttpService receiver;
  auto config = loopback();
  config.keep_alive = false;
  HttpClient client(config);
  for (int i = 0; i < 3; ++i) CHECK(post(client, receiver) == 200);
  CHECK(receiver.connections_accepted() == 3);
  CHECK(receiver.wait_for_open(0, 5s));
  for (const auto& request : receiver.requests()) CHECK(request.header("connection") == "close");
}

// The HTTP client against servers that misbehave: what is kept, what is refused, what is known.
#include "support/http_client.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lab/http/http_service.hpp"
#include "seriatim/error.hpp"
#include "support/address_policy.hpp"
#include "support/certificates.hpp"

using namespace std::chrono_literals;
using namespace seriatim::handlers;
using namespace seriatim::lab;
using namespace seriatim::testing;
using Clock = std::chrono::steady_clock;
using Failure = HttpFailure::Kind;

namespace {

HttpClientConfig loopback() {
  return {.allow_private = true};
}

HttpResult post(HttpClient& client, const std::string& url, std::string_view body = "{}",
                std::chrono::milliseconds time = 10s) {
  return client.post({parse_url(url), {}, body}, Clock::now() + time);
}

int status_of(const HttpResult& result) {
  const auto* answer = std::get_if<HttpAnswer>(&result);
  return answer ? answer->status : 0;
}

std::optional<Failure> failure_of(const HttpResult& result) {
  const auto* failure = std::get_if<HttpFailure>(&result);
  return failure ? std::optional(failure->kind) : std::nullopt;
}

std::string why(const HttpResult& result) {
  const auto* failure = std::get_if<HttpFailure>(&result);
  return failure ? failure->what : "";
}

Reply raw(std::string text, bool close_after = false) {
  Reply reply;
  reply.raw = std::move(text);
  reply.close_after = close_after;
  return reply;
}

/// A file that is gone at the end of the test.
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    std::string name = (std::filesystem::temp_directory_path() / "seriatim-ca-XXXXXX").string();
    ::close(::mkstemp(name.data()));
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("one connection carries request after request") {
  HttpService receiver;
  HttpClient client(loopback());
  for (int i = 0; i < 20; ++i) CHECK(status_of(post(client, receiver.url())) == 200);
  CHECK(receiver.connections_accepted() == 1);
}

TEST_CASE("a connection the receiver closed while idle is replaced before sending") {
  HttpService receiver;
  HttpClient client(loopback());
  for (int i = 0; i < 5; ++i) {
    CHECK(status_of(post(client, receiver.url())) == 200);
    receiver.close_connections();
    REQUIRE(receiver.wait_for_open(0, 5s));
  }
  CHECK(receiver.request_count() == 5);
  CHECK(receiver.connections_accepted() == 5);
}

TEST_CASE("a kept connection that breaks after the request was sent is not tried again") {
  HttpService receiver;
  HttpClient client(loopback());
  for (const auto act : {Reply::Act::close_before_answer, Reply::Act::reset_before_answer}) {
    receiver.forget_requests();
    CHECK(status_of(post(client, receiver.url())) == 200);
    receiver.push(Reply::doing(act));
    CHECK(failure_of(post(client, receiver.url())) == Failure::lost);
    CHECK(receiver.request_count() == 2);
  }
}

TEST_CASE("a connection is kept no longer than its receiver promises") {
  HttpService receiver;
  HttpClient client(loopback());
  Reply reply;
  reply.headers = {{"Keep-Alive", "timeout=1, max=100"}};
  receiver.reply_with(reply);
  CHECK(status_of(post(client, receiver.url())) == 200);
  CHECK(status_of(post(client, receiver.url())) == 200);
  CHECK(receiver.connections_accepted() == 2);
}

TEST_CASE("a connection is not kept after anything odd") {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  const std::vector<Reply> odd = {
      raw(ok + "Connection: close\r\n\r\n"), raw("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
      raw(ok + "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),  // an answer to nothing
      raw("HTTP/1.1 100 Continue\r\n\r\n" + ok + "\r\n"),
      raw("HTTP/1.1 200 OK\r\n\r\nuntil the end", true)};
  for (const auto& reply : odd) {
    CAPTURE(reply.raw);
    HttpService receiver;
    HttpClient client(loopback());
    receiver.push(reply);
    CHECK(status_of(post(client, receiver.url())) == 200);
    CHECK(status_of(post(client, receiver.url())) == 200);
    CHECK(receiver.connections_accepted() == 2);
  }
}

TEST_CASE("an answer that is not HTTP cannot be read, and the connection ends") {
  const std::vector<std::string> broken = {
      "garbage\r\n\r\n",
      "HTTP/1.1 OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/9.9 200 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nxxx",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX: a" + std::string(1, '\0') + "b\r\n\r\n",
      std::string(100, '\0'),
      "HTTP/1.1 200 OK\r\nX: " + std::string(1 << 20, 'x') + "\r\n\r\n"};
  for (const auto& text : broken) {
    CAPTURE(text.substr(0, 80));
    HttpService receiver;
    HttpClient client(loopback());
    receiver.push(raw(text, true));
    const auto result = post(client, receiver.url());
    REQUIRE(failure_of(result) == Failure::unreadable);
    CHECK(std::get<HttpFailure>(result).received == text.substr(0, 16 << 10));
    CHECK(receiver.wait_for_open(0, 5s));
    CHECK(status_of(post(client, receiver.url())) == 200);
  }
}

TEST_CASE("ten thousand header lines are not read to their end") {
  HttpService receiver;
  HttpClient client(loopback());
  std::string text = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10'000; ++i) text += "X-" + std::to_string(i) + ": y\r\n";
  receiver.push(raw(text + "\r\n"));
  const auto result = post(client, receiver.url());
  CHECK(failure_of(result) == Failure::unreadable);
  CHECK(why(result) == "the answer's head is over 16 KiB");
}

TEST_CASE("a body of ten gigabytes is read to the cap, and its status counts") {
  HttpService receiver;
  HttpClient client(loopback());
  for (const int status : {200, 422}) {
    for (const bool sized : {true, false}) {
      auto reply = Reply::with_status(status);
      reply.filler_bytes = std::size_t{10} << 30;
      if (!sized) reply.headers = {{"Transfer-Encoding", "identity"}};
      if (!sized) reply.raw = "HTTP/1.1 " + std::to_string(status) + " Said\r\n\r\n";
      receiver.push(reply);
      const auto result = post(client, receiver.url());
      CHECK(status_of(result) == status);
      CHECK(std::get<HttpAnswer>(result).body.size() == 64 << 10);
      CHECK(receiver.wait_for_open(0, 5s));
    }
  }
}

TEST_CASE("a compressed body stays as it came") {
  HttpService receiver;
  HttpClient client(loopback());
  auto reply = Reply::with_status(422, "\x1f\x8b not really gzip");
  reply.headers = {{"Content-Encoding", "gzip"}};
  receiver.push(reply);
  CHECK(std::get<HttpAnswer>(post(client, receiver.url())).body == reply.body);
}

TEST_CASE("a chunked answer is put together") {
  HttpService receiver;
  HttpClient client(loopback());
  auto reply = Reply::with_status(422, "more than seven bytes");
  reply.chunked = true;
  receiver.push(reply);
  CHECK(std::get<HttpAnswer>(post(client, receiver.url())).body == reply.body);
  CHECK(status_of(post(client, receiver.url())) == 200);
  CHECK(receiver.connections_accepted() == 1);
}

TEST_CASE("silence and trickling end at the deadline as a lost answer") {
  HttpService receiver;
  auto trickle = Reply::with_status(200, "x");
  trickle.byte_interval = 30ms;
  auto late = Reply::with_status(200);
  late.delay = 60s;
  auto slow_body = Reply::with_status(200, std::string(1000, 'x'));
  for (const auto& reply : {Reply::doing(Reply::Act::hang), trickle, late}) {
    HttpClient client(loopback());
    receiver.push(reply);
    const auto began = Clock::now();
    const auto result = post(client, receiver.url(), "{}", 200ms);
    CHECK(failure_of(result) == Failure::lost);
    CHECK(why(result) == "no answer in time");
    CHECK(Clock::now() - began >= 200ms);
    CHECK(Clock::now() - began < 1s);
    CHECK(receiver.wait_for_open(0, 5s));
  }
}

TEST_CASE("an answer that breaks off is believed when it says no, not when it says yes") {
  HttpService receiver;
  HttpClient client(loopback());
  for (const auto& [status, known] :
       std::vector<std::pair<std::string, int>>{{"422", 422}, {"200", 0}}) {
    receiver.push(raw("HTTP/1.1 " + status + " Said\r\nContent-Length: 100\r\n\r\nhalf", true));
    const auto result = post(client, receiver.url());
    CHECK(status_of(result) == known);
    if (known) CHECK(std::get<HttpAnswer>(result).body == "half");
  }
  receiver.push(raw("HTTP/1.1 2", true));
  CHECK(failure_of(post(client, receiver.url())) == Failure::unreadable);
}

TEST_CASE("an answer before the body was read is believed when it says no, not when it says yes") {
  HttpService receiver;
  const std::string body(64 << 20, 'x');  // more than the sockets hold
  for (const auto& [status, known] : std::vector<std::pair<int, int>>{{413, 413}, {200, 0}}) {
    HttpClient client(loopback());
    auto reply = Reply::with_status(status);
    reply.act = Reply::Act::answer_before_body;
    receiver.push(reply);
    const auto result = post(client, receiver.url(), body, 500ms);
    CHECK(status_of(result) == known);
    if (!known) CHECK(failure_of(result) == Failure::lost);
  }
}

TEST_CASE("a receiver that never takes the whole request does not have it") {
  HttpService receiver;
  const std::string body(64 << 20, 'x');
  auto hang = Reply::doing(Reply::Act::answer_before_body);
  hang.delay = 60s;
  receiver.push(hang);
  HttpClient client(loopback());
  CHECK(failure_of(post(client, receiver.url(), body, 300ms)) == Failure::not_sent);

  receiver.push(Reply::doing(Reply::Act::close_before_reading));
  CHECK(failure_of(post(client, receiver.url(), body)) == Failure::not_sent);
}

TEST_CASE("nothing listening means not sent") {
  unsigned short port = 0;
  {
    const HttpService receiver;
    port = receiver.port();
  }
  HttpClient client(loopback());
  const auto result = post(client, "http://127.0.0.1:" + std::to_string(port) + "/");
  CHECK(failure_of(result) == Failure::not_sent);
  CHECK(why(result).find("refused") != std::string::npos);
}

TEST_CASE("a process without file descriptors left has not sent, and goes on when it has some") {
  HttpService receiver;
  HttpClient client(loopback());
  CHECK(status_of(post(client, receiver.url())) == 200);
  receiver.close_connections();
  REQUIRE(receiver.wait_for_open(0, 5s));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{3, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  const auto starved = post(client, receiver.url());
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(failure_of(starved) == Failure::not_sent);
  CHECK(status_of(post(client, receiver.url())) == 200);
}

TEST_CASE("IPv6 is spoken, and a dead first address does not prevent a second") {
  HttpService receiver({.ipv6 = true});
  HttpClient direct(loopback());
  CHECK(status_of(post(direct, receiver.url())) == 200);

  auto config = loopback();
  config.lookup = [](const std::string&, auto) {
    return std::vector<std::string>{"127.0.0.1", "::1"};
  };
  HttpClient by_name(config);
  CHECK(status_of(post(by_name, "http://two.example:" + std::to_string(receiver.port()) + "/")) ==
        200);
}

TEST_CASE("a name that cannot be resolved means not sent, within the deadline") {
  auto config = loopback();
  config.lookup = [](const std::string& host, auto) -> std::vector<std::string> {
    throw seriatim::Error("no such name: " + host);
  };
  HttpClient client(config);
  CHECK(failure_of(post(client, "http://a.example/")) == Failure::not_sent);
}

TEST_CASE("a name that leads to a private address is refused at connect") {
  HttpService receiver;
  HttpClientConfig config;
  std::string address = "127.0.0.1";
  config.lookup = [&](const std::string&, auto) { return std::vector<std::string>{address}; };
  const auto url = "http://public.example:" + std::to_string(receiver.port()) + "/";
  for (const auto* private_address :
       {"127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "::ffff:127.0.0.1", "fd00:ec2::254"}) {
    address = private_address;
    HttpClient client(config);
    const auto result = post(client, url);
    CHECK(failure_of(result) == Failure::refused);
    CHECK(why(result).find("allow_private") != std::string::npos);
  }
  CHECK(receiver.connections_accepted() == 0);

  config.allow_private = true;
  address = "127.0.0.1";
  HttpClient client(config);
  CHECK(status_of(post(client, url)) == 200);
}

// FAULTS 51: what a name leads to is judged when it is connected to, and what was judged is what is
// connected to.
TEST_CASE("a name that led to public addresses at start and leads to a private one is refused") {
  HttpService receiver;
  HttpClientConfig config;
  std::vector<std::string> leads_to{"93.184.216.34", "2606:2800:220:1::1"};
  int lookups = 0;
  config.lookup = [&](const std::string&, auto) {
    ++lookups;
    return leads_to;
  };
  const auto url = "http://hook.example:" + std::to_string(receiver.port()) + "/";
  CHECK(refusal_of_url(parse_url(url)).empty());
  for (const auto& address : config.lookup("hook.example", 1s)) {
    CHECK(refusal_of_address(address).empty());
  }
  HttpClient client(config);
  lookups = 0;
  leads_to = {"127.0.0.1"};
  CHECK(failure_of(post(client, url)) == Failure::refused);
  CHECK(lookups == 1);
  CHECK(receiver.connections_accepted() == 0);
}

TEST_CASE("a name is resolved once a connection: no second answer slips in after the check") {
  HttpService receiver;
  HttpClientConfig config;
  config.allow_private = true;
  int lookups = 0;
  config.lookup = [&](const std::string&, auto) {
    return std::vector<std::string>{++lookups == 1 ? "127.0.0.1" : "127.0.0.2"};
  };
  HttpClient client(config);
  const auto url = "http://hook.example:" + std::to_string(receiver.port()) + "/";
  CHECK(status_of(post(client, url)) == 200);
  CHECK(status_of(post(client, url)) == 200);
  CHECK(lookups == 1);
  CHECK(receiver.connections_accepted() == 1);
}

TEST_CASE("TLS is spoken with a receiver whose certificate holds") {
  const CertificateAuthority authority;
  const auto leaf = authority.issue({.dns_names = {"hook.example"}, .ip_addresses = {"127.0.0.1"}});
  HttpService receiver({.certificate = leaf.certificate, .key = leaf.key});
  const TextFile ca(authority.certificate());
  auto config = loopback();
  config.ca_file = ca.path();
  config.lookup = [](const std::string&, auto) { return std::vector<std::string>{"127.0.0.1"}; };
  HttpClient client(config);
  for (int i = 0; i < 3; ++i) {
    CHECK(status_of(post(client, receiver.url(), std::string(100'000, 'x'))) == 200);
  }
  CHECK(receiver.last_request().body.size() == 100'000);
  CHECK(receiver.connections_accepted() == 1);
  CHECK(status_of(post(client, "https://hook.example:" + std::to_string(receiver.port()) + "/")) ==
        200);

  receiver.push(Reply::doing(Reply::Act::reset_before_answer));
  CHECK(failure_of(post(client, receiver.url())) == Failure::lost);
}

TEST_CASE("over TLS too an early no is believed, an early yes is not, and the deadline holds") {
  const CertificateAuthority authority;
  const auto leaf = authority.issue({.ip_addresses = {"127.0.0.1"}});
  HttpService receiver({.certificate = leaf.certificate, .key = leaf.key});
  const TextFile ca(authority.certificate());
  auto config = loopback();
  config.ca_file = ca.path();
  HttpClient client(config);
  const std::string body(64 << 20, 'x');
  auto no = Reply::doing(Reply::Act::answer_before_body);
  no.status = 413;
  receiver.push({Reply::doing(Reply::Act::answer_before_body), no});
  CHECK(failure_of(post(client, receiver.url(), body, 2s)) == Failure::lost);
  CHECK(status_of(post(client, receiver.url(), body, 2s)) == 413);
  receiver.push(raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"));
  CHECK(why(post(client, receiver.url(), "{}", 200ms)) == "HTTP 200, then: no answer in time");
  CHECK(status_of(post(client, receiver.url())) == 200);
}

TEST_CASE("a certificate that does not hold is refused, and nothing is sent") {
  const CertificateAuthority authority;
  const CertificateAuthority stranger;
  const CertificateRequest good{.dns_names = {"hook.example"}, .ip_addresses = {"127.0.0.1"}};
  auto expired = good;
  expired.starts = -48h;
  expired.ends = -24h;
  auto not_yet = good;
  not_yet.starts = 24h;
  not_yet.ends = 48h;
  const CertificateRequest other{.dns_names = {"other.example"}, .ip_addresses = {"127.0.0.2"}};
  const std::vector<std::pair<std::string, Certificate>> bad = {
      {"expired", authority.issue(expired)},
      {"not yet valid", authority.issue(not_yet)},
      {"self-signed", self_signed(good)},
      {"signature failure", stranger.issue(good)},
      {"IP address mismatch", authority.issue(other)}};
  const TextFile ca(authority.certificate());
  auto config = loopback();
  config.ca_file = ca.path();
  config.lookup = [](const std::string&, auto) { return std::vector<std::string>{"127.0.0.1"}; };
  for (const auto& entry : bad) {
    INFO(std::string(entry.first));
    HttpService receiver({.certificate = entry.second.certificate, .key = entry.second.key});
    HttpClient client(config);
    const auto result = post(client, receiver.url());
    CHECK(failure_of(result) == Failure::refused);
    CHECK(why(result).find(entry.first) != std::string::npos);
    CHECK(receiver.request_count() == 0);
  }
  const auto leaf = authority.issue(other);
  HttpService receiver({.certificate = leaf.certificate, .key = leaf.key});
  HttpClient client(config);
  const auto result = post(client, "https://hook.example:" + std::to_string(receiver.port()) + "/");
  CHECK(failure_of(result) == Failure::refused);
  CHECK(why(result).find("ostname mismatch") != std::string::npos);
}

TEST_CASE("an authority nobody configured is not trusted") {
  const CertificateAuthority authority;
  const auto leaf = authority.issue({.ip_addresses = {"127.0.0.1"}});
  HttpService receiver({.certificate = leaf.certificate, .key = leaf.key});
  HttpClient client(loopback());
  CHECK(failure_of(post(client, receiver.url())) == Failure::refused);
}

TEST_CASE("TLS 1.0 and 1.1 are not spoken") {
  const CertificateAuthority authority;
  const auto leaf = authority.issue({.ip_addresses = {"127.0.0.1"}});
  const TextFile ca(authority.certificate());
  auto config = loopback();
  config.ca_file = ca.path();
  for (const int version : {0x0301, 0x0302}) {
    HttpService receiver(
        {.certificate = leaf.certificate, .key = leaf.key, .tls_version_max = version});
    HttpClient client(config);
    CHECK(failure_of(post(client, receiver.url())) == Failure::not_sent);
    CHECK(receiver.request_count() == 0);
  }
  HttpService receiver(
      {.certificate = leaf.certificate, .key = leaf.key, .tls_version_max = 0x0303});
  HttpClient client(config);
  CHECK(status_of(post(client, receiver.url())) == 200);
}

TEST_CASE("a plain server asked for TLS, and one that hangs in the handshake, mean not sent") {
  HttpService receiver;
  HttpClient client(loopback());
  const auto https = "https://127.0.0.1:" + std::to_string(receiver.port()) + "/";
  const auto began = Clock::now();
  CHECK(failure_of(post(client, https, "{}", 300ms)) == Failure::not_sent);
  CHECK(Clock::now() - began < 10s);
}

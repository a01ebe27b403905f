// One exchange over a socket whose other end the test holds: what is known of the request, byte by
// byte.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <future>
#include <string>
#include <thread>

#include "support/transport.hpp"

using namespace std::chrono_literals;
using namespace seriatim::handlers;
using Clock = std::chrono::steady_clock;
using Failure = HttpFailure::Kind;

namespace {

const std::string yes = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const std::string no = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";
const std::string large(4 << 20, 'x');  // more than the sockets hold

/// Of a request with a body of so many bytes.
std::string head(std::size_t body) {
  return "POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: " + std::to_string(body) +
         "\r\n\r\n";
}

/// A connection and its receiver's end of it.
struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    connection = make_http_connection(PlainStream(io, Fd(ends[0])));
    peer = Fd(ends[1]);
  }

  Exchange post(std::string_view body, std::chrono::milliseconds time = 10s) {
    return connection->post({url, {}, body}, false, Clock::now() + time);
  }
  void say(std::string_view text) const {
    REQUIRE(::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(text.size()));
  }
  /// As far as anybody listens.
  void try_to_say(std::string_view text) const {
    while (!text.empty()) {
      const auto size = ::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (size < 0) return;
      text.remove_prefix(static_cast<std::size_t>(size));
    }
  }
  /// Up to so many bytes; fewer where the connection ends.
  [[nodiscard]] std::string hear(std::size_t bytes) const {
    std::string heard(bytes, '\0');
    const auto size = ::recv(peer.get(), heard.data(), bytes, MSG_WAITALL);
    heard.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return heard;
  }

  boost::asio::io_context io;
  Url url = parse_url("http://a.example/");
  std::unique_ptr<HttpConnection> connection;
  Fd peer;
};

int status_of(const Exchange& exchange) {
  const auto* answer = std::get_if<HttpAnswer>(&exchange.result);
  return answer ? answer->status : 0;
}

HttpFailure failure_of(const Exchange& exchange) {
  const auto* failure = std::get_if<HttpFailure>(&exchange.result);
  REQUIRE(failure);
  return *failure;
}

}  // namespace

TEST_CASE("a receiver that is gone before the first byte leaves the request untouched") {
  Pair pair;
  CHECK(pair.connection->is_quiet());
  pair.peer.close();
  CHECK_FALSE(pair.connection->is_quiet());
  const auto exchange = pair.post("{}");
  CHECK(exchange.untouched);
  CHECK_FALSE(exchange.reusable);
  CHECK(failure_of(exchange).kind == Failure::not_sent);
  CHECK(failure_of(exchange).what == "Broken pipe");
}

TEST_CASE("what a receiver says unasked is seen before the next request") {
  Pair pair;
  pair.say("HTTP/1.1 408 Request Timeout\r\n\r\n");
  CHECK_FALSE(pair.connection->is_quiet());
}

TEST_CASE("a request larger than the socket holds arrives whole and in order") {
  Pair pair;
  std::string body = large;
  for (std::size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>('a' + i % 26);
  auto heard = std::async([&] {
    auto all = pair.hear(head(body.size()).size() + body.size());
    pair.say(yes);
    return all;
  });
  const auto exchange = pair.post(body);
  CHECK(status_of(exchange) == 200);
  CHECK(exchange.reusable);
  CHECK(heard.get() == head(body.size()) + body);
}

TEST_CASE("an early no ends a request in the middle, an early yes waits for all of it") {
  {
    Pair pair;
    pair.say(no);
    const auto began = Clock::now();
    const auto exchange = pair.post(large);
    CHECK(Clock::now() - began < 10s);  // the call's time
    CHECK(status_of(exchange) == 413);
    CHECK_FALSE(exchange.reusable);
  }
  {
    Pair pair;
    pair.say(yes);
    auto heard = std::async([&] { return pair.hear(head(large.size()).size() + large.size()); });
    const auto exchange = pair.post(large);
    CHECK(status_of(exchange) == 200);
    CHECK(exchange.reusable);
    CHECK(heard.get().size() == head(large.size()).size() + large.size());
  }
  {
    Pair pair;
    pair.say(yes);
    const auto exchange = pair.post(large, 100ms);
    CHECK(failure_of(exchange).kind == Failure::lost);
    CHECK(failure_of(exchange).what == "HTTP 200 before the whole request was sent");
  }
}

TEST_CASE("a receiver that hangs up in the middle of the request does not have it") {
  Pair pair;
  auto heard = std::async([&] {
    auto some = pair.hear(10'000);
    pair.peer.close();
    return some;
  });
  const auto exchange = pair.post(large);
  CHECK(failure_of(exchange).kind == Failure::not_sent);
  CHECK_FALSE(exchange.untouched);
  CHECK(heard.get().size() == 10'000);
}

TEST_CASE("the deadline holds in the middle of request and answer") {
  for (const auto* begun :
       {"", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"}) {
    CAPTURE(begun);
    Pair pair;
    pair.say(begun);
    const auto began = Clock::now();
    const auto failure = failure_of(pair.post("{}", 60ms));
    CHECK(Clock::now() - began >= 60ms);
    CHECK(failure.kind == Failure::lost);
    CHECK(failure.what.ends_with("no answer in time"));
    CHECK(pair.hear(head(2).size() + 2) == head(2) + "{}");
  }
  Pair pair;
  pair.say("HTTP/1.1 422 No\r\nContent-Length: 9\r\n\r\nhalf");
  const auto refused = pair.post("{}", 60ms);
  CHECK(status_of(refused) == 422);
  CHECK_FALSE(refused.reusable);

  Pair unread;
  const auto failure = failure_of(unread.post(large, 60ms));
  CHECK(failure.kind == Failure::not_sent);
  CHECK(failure.what == "no answer in time");
}

TEST_CASE("an answer whose line has no end is given up") {
  Pair pair;
  auto sender = std::async(
      [&] { pair.try_to_say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + large); });
  const auto failure = failure_of(pair.post("{}"));
  CHECK(failure.kind == Failure::unreadable);
  CHECK(failure.what.ends_with("a line of the answer has no end"));
  pair.connection.reset();
  sender.get();
}

TEST_CASE("an answer that comes byte by byte is put together") {
  Pair pair;
  const std::string answer =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 422 No\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
  auto sender = std::async([&] {
    for (const char byte : answer) pair.say({&byte, 1});
  });
  const auto exchange = pair.post("{}");
  REQUIRE(status_of(exchange) == 422);
  CHECK(std::get<HttpAnswer>(exchange.result).body == "abcd");
  sender.get();
}

TEST_CASE("one answer leaves nothing behind for the next") {
  Pair pair;
  pair.say(
      "HTTP/1.1 422 No\r\nContent-Length: 4\r\nRetry-After: 7\r\nKeep-Alive: "
      "timeout=5\r\n\r\nlong");
  const auto first = pair.post("{}");
  CHECK(first.keep_alive == 5s);
  CHECK(std::get<HttpAnswer>(first.result).retry_after == "7");
  pair.say("HTTP/1.1 409 No\r\nContent-Length: 1\r\n\r\nx");
  const auto second = pair.post("{}");
  CHECK(second.reusable);
  CHECK(second.keep_alive == 0s);
  CHECK(std::get<HttpAnswer>(second.result).retry_after.empty());
  CHECK(std::get<HttpAnswer>(second.result).body == "x");
}

TEST_CASE("a signal during the wait does not end it") {
  struct sigaction before {};
  struct sigaction interrupts {};
  interrupts.sa_handler = [](int) {};  // and no SA_RESTART
  ::sigaction(SIGUSR1, &interrupts, &before);
  Pair pair;
  auto sender = std::async([&, waiting = ::pthread_self()] {
    (void)pair.hear(head(2).size() + 2);
    for (int i = 0; i < 20; ++i) ::pthread_kill(waiting, SIGUSR1);
    pair.say(yes);
  });
  CHECK(status_of(pair.post("{}")) == 200);
  sender.get();
  ::sigaction(SIGUSR1, &before, nullptr);
}

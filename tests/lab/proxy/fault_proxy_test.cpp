// Each fault of the proxy as a plain socket sees it.
#include "lab/proxy/fault_proxy.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "lab/proxy/loopback.hpp"
#include "support/skip.hpp"

using namespace seriatim::torture;
using namespace std::chrono_literals;
using seriatim::testing::PlainListener;
using seriatim::testing::PlainSocket;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// A client and a server with the proxy between them.
struct Line {
  explicit Line(const Weather& weather = {}) { proxy.set(weather); }
  PlainSocket call() { return PlainSocket::to(proxy.port()); }

  PlainListener listener;
  FaultProxy proxy{"127.0.0.1", listener.port(), 7};
};

Weather both(const Flow& flow) {
  return {flow, flow};
}

/// Nothing comes, and it is not the end.
bool hears_nothing(PlainSocket& socket, milliseconds limit = 300ms) {
  return socket.receive(1, limit).empty() && !socket.ended() && socket.error() == 0;
}

}  // namespace

TEST_SUITE("the fault proxy") {
  TEST_CASE("in fair weather bytes and their end pass both ways unchanged") {
    Line line;
    auto client = line.call();
    auto server = line.listener.accept();
    std::string large(1 << 20, 'x');
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 3);
    client.send(large.substr(0, 1 << 16));
    CHECK(server.receive(1 << 16) == large.substr(0, 1 << 16));
    server.send("answer");
    CHECK(client.receive(6) == "answer");
    ::shutdown(client.fd(), SHUT_WR);
    server.receive(1);
    CHECK(server.ended());
    server.send("still there");  // half closed, not closed
    CHECK(client.receive(11) == "still there");
    server.close();
    client.receive(1);
    CHECK(client.ended());
    CHECK(line.proxy.counts().bytes_to_server == 1 << 16);
    CHECK(line.proxy.counts().bytes_to_client == 17);
  }

  TEST_CASE("latency delays each byte and keeps the throughput") {
    Line line({{.latency = 300ms}, {}});
    auto client = line.call();
    auto server = line.listener.accept();
    const auto began = Clock::now();
    for (int i = 0; i < 20; ++i) client.send("x");
    CHECK(server.receive(20).size() == 20);
    CHECK(Clock::now() - began >= 300ms);
    CHECK(Clock::now() - began < 5s);  // not twenty times
    line.proxy.set({});
    client.send("x");
    CHECK(server.receive(1) == "x");
  }

  TEST_CASE("bandwidth holds, one way only where so asked") {
    Line line({{}, {.bytes_per_second = 1'000}});
    auto client = line.call();
    auto server = line.listener.accept();
    const auto began = Clock::now();
    client.send(std::string(20'000, 'x'));
    CHECK(server.receive(20'000).size() == 20'000);
    server.send(std::string(500, 'x'));
    CHECK(client.receive(500).size() == 500);
    CHECK(Clock::now() - began >= 400ms);
  }

  TEST_CASE("slices are handed on one by one") {
    Line line({{.latency = 0ms, .bytes_per_second = 100, .slice_bytes = 1}, {}});
    auto client = line.call();
    auto server = line.listener.accept();
    client.send("abcdefghij");
    CHECK(server.receive(10) == "abcdefghij");
    CHECK(server.pieces() == 10);
  }

  TEST_CASE("loss makes bytes late, never lost or out of order") {
    Line line(both({.slice_bytes = 1, .loss = 0.3}));
    auto client = line.call();
    auto server = line.listener.accept();
    const auto began = Clock::now();
    client.send("abcdefghij");
    CHECK(server.receive(10) == "abcdefghij");
    CHECK(Clock::now() - began >= 200ms);  // seed 7 loses some of the ten
  }

  TEST_CASE("what is held comes when it is let go, its end as well") {
    Line line(both({.held = true}));
    auto client = line.call();
    auto server = line.listener.accept();
    client.send("later");
    client.close();
    CHECK(hears_nothing(server));
    line.proxy.set({});
    CHECK(server.receive(5) == "later");
    server.receive(1);
    CHECK(server.ended());
  }

  TEST_CASE("a flood is slowed down, not gathered") {
    Line line(both({.held = true}));
    auto client = line.call();
    auto server = line.listener.accept();
    client.set(SOL_SOCKET, SO_SNDBUF, 4'096);
    const std::string piece(64 << 10, 'x');
    std::size_t sent = 0;
    for (auto last = Clock::now(); Clock::now() - last < 300ms;) {
      const auto n = client.send_some(piece);
      sent += n;
      if (n > 0) last = Clock::now();
      REQUIRE(sent < 64 << 20);  // what two kernels' buffers take is far less
    }
    line.proxy.set({});
    CHECK(server.receive(sent).size() == sent);
  }

  TEST_CASE("a black hole takes everything and gives nothing, and new connections go nowhere") {
    Line line;
    auto client = line.call();
    auto server = line.listener.accept();
    line.proxy.set(both({.swallow = true}));
    client.send("lost");
    server.send("lost");
    auto late = line.call();
    CHECK(late.error() == 0);
    late.send("lost");
    CHECK(hears_nothing(server));
    CHECK(hears_nothing(client, 10ms));
    CHECK(hears_nothing(late, 10ms));
    line.proxy.set({});
    client.send("lost too");  // its stream has a gap: nothing of it may ever arrive
    CHECK(hears_nothing(server));
  }

  TEST_CASE("weather may be for connections that are, or for those to come") {
    Line line;
    auto before = line.call();
    auto server_before = line.listener.accept();
    line.proxy.set(both({.held = true}), Connections::coming);
    auto after = line.call();
    auto server_after = line.listener.accept();
    before.send("1");
    after.send("2");
    CHECK(server_before.receive(1) == "1");
    CHECK(hears_nothing(server_after));
    line.proxy.set({}, Connections::existing);
    CHECK(server_after.receive(1) == "2");
    CHECK(line.proxy.counts().accepted == 2);
    CHECK(line.proxy.counts().open == 2);
  }

  TEST_CASE("reset is RST and close is FIN, to both sides") {
    Line line;
    auto client = line.call();
    auto server = line.listener.accept();
    line.proxy.close_connections();
    client.receive(1);
    server.receive(1);
    CHECK(client.ended());
    CHECK(server.ended());
    auto second = line.call();
    auto second_server = line.listener.accept();
    line.proxy.reset_connections();
    second.receive(1);
    second_server.receive(1);
    CHECK(second.error() == ECONNRESET);
    CHECK(second_server.error() == ECONNRESET);
  }

  TEST_CASE("half open: one side sees the end, the other sends into the void") {
    for (const auto gone : {Side::server, Side::client}) {
      Line line;
      auto client = line.call();
      auto server = line.listener.accept();
      auto& left = gone == Side::server ? client : server;
      auto& ended = gone == Side::server ? server : client;
      line.proxy.half_open(gone);
      ended.receive(1);
      CHECK(ended.ended());
      left.send("is anybody there?");
      CHECK(hears_nothing(left));
      CHECK(line.proxy.counts().open == 1);
    }
  }

  TEST_CASE("a cut cable acknowledges nothing: keepalives and TCP_USER_TIMEOUT notice") {
    Line line;
    auto talking = line.call();
    auto talking_server = line.listener.accept();
    auto idle = line.call();
    auto idle_server = line.listener.accept();
    talking.set(IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
    idle_server.set(SOL_SOCKET, SO_KEEPALIVE, 1);
    idle_server.set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
    idle_server.set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
    idle_server.set(IPPROTO_TCP, TCP_KEEPCNT, 1);
    if (!line.proxy.cut()) SKIP_TEST("this kernel has no SO_ATTACH_FILTER");
    talking.send("x");
    talking.receive(1);
    CHECK(talking.error() == ETIMEDOUT);
    idle_server.receive(1);
    CHECK(idle_server.error() == ETIMEDOUT);
    auto third = PlainSocket::to(line.proxy.port(), 300ms);
    CHECK(third.error() == ETIMEDOUT);
    CHECK(hears_nothing(talking_server, 10ms));
  }

  TEST_CASE("a fixed cable carries on with what TCP had kept") {
    Line line;
    auto client = line.call();
    auto server = line.listener.accept();
    if (!line.proxy.cut()) SKIP_TEST("this kernel has no SO_ATTACH_FILTER");
    client.send("kept");
    CHECK(hears_nothing(server));
    line.proxy.fix();
    CHECK(server.receive(4) == "kept");
    server.send("well");
    CHECK(client.receive(4) == "well");
  }

  TEST_CASE("refused is refused, and the port stays ours") {
    Line line;
    auto open = line.call();
    auto server = line.listener.accept();
    line.proxy.refuse(true);
    CHECK(line.call().error() == ECONNREFUSED);
    open.send("still on");
    CHECK(server.receive(8) == "still on");
    line.proxy.refuse(false);
    auto again = line.call();
    CHECK(again.error() == 0);
    auto server_again = line.listener.accept();
    again.send("x");
    CHECK(server_again.receive(1) == "x");
  }

  TEST_CASE("dropped at a byte: those before arrive, none behind, in either direction") {
    for (const auto towards : {Side::server, Side::client}) {
      Line line;
      line.proxy.drop_at_byte(towards, 6);
      auto client = line.call();
      auto server = line.listener.accept();
      auto& sender = towards == Side::server ? client : server;
      auto& receiver = towards == Side::server ? server : client;
      sender.send("abcd");
      CHECK(receiver.receive(4) == "abcd");
      sender.send("efgh");
      CHECK(receiver.receive(4) == "ef");
      CHECK(receiver.ended());
      sender.receive(1);
      CHECK(sender.ended());
      CHECK(line.proxy.counts().dropped == 1);
    }
  }

  TEST_CASE("a server that is not there resets who asks for it") {
    unsigned short nobody = 0;
    { nobody = PlainListener().port(); }
    FaultProxy proxy("127.0.0.1", nobody);
    auto client = PlainSocket::to(proxy.port());
    client.receive(1);
    CHECK(client.error() == ECONNRESET);
    CHECK_THROWS_AS(FaultProxy("no-such-name.invalid", 1), std::runtime_error);
  }
}

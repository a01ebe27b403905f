// Server-sent events: what listeners are told, and that they cost a bounded amount.
#include "console/events.hpp"

#include <doctest/doctest.h>

#include <mutex>

#include "console/console_stage.hpp"
#include "lab/process/process.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::console;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using lab::wait_until;

namespace {

Ask listen(const std::string& last_seen = {}) {
  auto ask = Ask::get("/api/v1/events").with("Authorization", "Bearer " + victor_token);
  return last_seen.empty() ? ask : ask.with("Last-Event-ID", last_seen);
}

/// The next event that says more than when the desk was asked.
std::string next_but_reads(TcpClient& client) {
  for (;;) {
    auto event = client.until("\n\n");
    if (!event.starts_with("event: read\n")) return event;
  }
}

/// A text that a test changes while others read it.
class Shown {
 public:
  explicit Shown(std::string text) : text_(std::move(text)) {}
  void set(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }
  [[nodiscard]] std::string get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace

TEST_SUITE("events") {
  TEST_CASE("a listener is told the status at once and when it changes") {
    ConsoleStage stage;
    Shown shown(R"({"lanes":[1]})");
    stage.desk.on_status = [&] { return shown.get(); };
    auto client = client_of(*stage.server);
    client.send(listen().text());
    const auto head = client.until("\r\n\r\n");
    CHECK(head.find("Content-Type: text/event-stream\r\n") != std::string::npos);
    CHECK(head.find("X-Accel-Buffering: no\r\n") != std::string::npos);
    CHECK(head.find("Cache-Control: no-store\r\n") != std::string::npos);
    CHECK(client.until("\n\n") == "event: status\ndata: {\"lanes\":[1]}\n\n");
    const int asked = stage.desk.statuses;
    wait_until("the desk is asked again", [&] { return stage.desk.statuses > asked + 2; });
    CHECK(client.until("\n\n") == "event: read\ndata: {\"looked_at\":\"now\"}\n\n");
    shown.set(R"({"lanes":[2]})");
    CHECK(next_but_reads(client) == "event: status\ndata: {\"lanes\":[2]}\n\n");
  }

  TEST_CASE("the desk is asked only while somebody listens") {
    ConsoleStage stage;
    {
      auto client = client_of(*stage.server);
      client.send(listen().text());
      (void)client.until("event: status");
    }
    wait_until("nobody listens", [&] { return stage.api.listeners() == 0; });
    const int asked = stage.desk.statuses;
    for (int i = 0; i < 300; ++i) CHECK(stage.ask(Ask::get("/livez")).status == 200);
    CHECK(stage.desk.statuses <= asked + 1);  // one may have been under way
    auto client = client_of(*stage.server);
    client.send(listen().text());
    (void)client.until("event: status");
    CHECK(stage.api.listeners() == 1);
  }

  TEST_CASE("journal entries come with their numbers, and a listener goes on where it was") {
    ConsoleStage stage;
    CHECK(stage.retry().status == 200);
    CHECK(stage.retry().status == 200);
    auto fresh = client_of(*stage.server);
    fresh.send(listen().text());
    (void)fresh.until("event: status");
    (void)fresh.until("\n\n");
    auto resumed = client_of(*stage.server);
    resumed.send(listen("1").text());
    (void)resumed.until("event: journal\n");
    CHECK(resumed.until("\n\n").starts_with("id: 2\ndata: {\"number\":\"2\",\"act\":\"retry\""));
    CHECK(stage.retry().status == 200);
    CHECK(next_but_reads(resumed).starts_with("event: journal\nid: 3\n"));
    CHECK(next_but_reads(fresh).starts_with("event: journal\nid: 3\n"));
  }

  TEST_CASE("an entry that commits after one with a greater number is told, once") {
    ConsoleStage stage;
    Order order;
    order.act = "pause";
    stage.desk.commit_late(2, order);
    auto client = client_of(*stage.server);
    client.send(listen().text());
    (void)client.until("event: status");
    (void)client.until("\n\n");
    const int asked = stage.desk.statuses;
    wait_until("the journal was asked", [&] { return stage.desk.statuses > asked + 1; });
    stage.desk.commit_late(1, order);
    CHECK(next_but_reads(client).starts_with("event: journal\nid: 2\ndata: {\"number\":\"1\""));
    stage.desk.commit_late(3, order);
    CHECK(next_but_reads(client).starts_with("event: journal\nid: 3\n"));
  }

  TEST_CASE("alerts that are new, recounts and trouble are told") {
    ConsoleStage stage;
    auto client = client_of(*stage.server);
    client.send(listen().text());
    (void)client.until("event: status");
    (void)client.until("\n\n");
    const int asked = stage.desk.statuses;
    wait_until("alerts were asked for", [&] { return stage.desk.statuses > asked + 1; });
    stage.desk.show_alert("a lane is stopped");
    CHECK(next_but_reads(client) ==
          "event: alert\ndata: {\"id\":\"1\",\"summary\":\"a lane is stopped\"}\n\n");
    const auto start = Ask::post("/api/v1/processes/p/recounts", "{}", alice_token);
    CHECK(stage.ask(start).status == 202);
    CHECK(next_but_reads(client) ==
          "event: recount\ndata: {\"process\":\"p\",\"rows\":10,\"done\":false,\"sound\":null,"
          "\"finding\":null}\n\n");
    stage.desk.end_recount();
    CHECK(next_but_reads(client) ==
          "event: recount\ndata: {\"process\":\"p\",\"rows\":20,\"done\":true,\"sound\":true,"
          "\"finding\":\"every row was delivered\"}\n\n");
  }

  TEST_CASE("a database that is away is told once, and then its return") {
    ConsoleStage stage;
    Shown shown("");
    stage.desk.on_status = [&] {
      const auto text = shown.get();
      if (text.empty()) throw SessionLost("gone");
      return text;
    };
    auto client = client_of(*stage.server);
    client.send(listen().text());
    (void)client.until("\r\n\r\n");
    CHECK(client.until("\n\n") == "event: trouble\ndata: {\"detail\":\"gone\"}\n\n");
    shown.set("{}");
    CHECK(client.until("\n\n") == "event: status\ndata: {}\n\n");
  }

  TEST_CASE("a silent stream has comments") {
    HttpServer::Settings settings;
    settings.limits.comment = 2ms;  // the desk is asked every 20 ms
    ConsoleStage stage(all_users(), settings);
    auto client = client_of(*stage.server);
    client.send(listen().text());
    (void)client.until("event: status");
    (void)client.until("\n\n");
    int comments = 0;
    for (int event = 0; event < 20; ++event) comments += client.until("\n\n") == ":\n\n" ? 1 : 0;
    CHECK(comments > 10);
  }

  TEST_CASE("32 listen, one more is refused, and one that goes makes room") {
    ConsoleStage stage;
    std::vector<TcpClient> clients;
    clients.reserve(32);
    for (int i = 0; i < 32; ++i) {
      clients.push_back(client_of(*stage.server));
      clients.back().send(listen().text());
      (void)clients.back().until("event: status");
    }
    CHECK(stage.ask(listen()).status == 503);
    clients.pop_back();
    wait_until("one has gone", [&] { return stage.api.listeners() == 31; });
    clients.push_back(client_of(*stage.server));
    clients.back().send(listen().text());
    CHECK(clients.back().until("\r\n\r\n").find("200 OK") != std::string::npos);
  }

  TEST_CASE("a listener that does not read is dropped") {
    ConsoleStage stage;
    std::atomic<int> changes = 0;
    stage.desk.on_status = [&] {
      return '"' + std::to_string(++changes) + std::string(std::size_t{1} << 20, 'x') + '"';
    };
    auto client = client_of(*stage.server);
    client.send(listen().text());
    wait_until("somebody listens", [&] { return stage.api.listeners() == 1; });
    wait_until("it was dropped", [&] { return stage.api.listeners() == 0; });
  }

  TEST_CASE("a stream keeps a bounded amount for its listener") {
    EventStream stream(10);
    const auto text = std::make_shared<const std::string>("12345678");
    stream.push(text);
    CHECK(stream.take().size() == 1);
    stream.push(text);
    CHECK_FALSE(stream.is_closed());
    stream.push(text);
    CHECK(stream.is_closed());
    CHECK(stream.take().empty());
  }

  TEST_CASE("a server ends while somebody listens") {
    ConsoleStage stage;
    auto client = client_of(*stage.server);
    client.send(listen().text());
    (void)client.until("event: status");
    stage.server.reset();
    (void)client.rest();
    wait_until("nobody listens", [&] { return stage.api.listeners() == 0; });
  }
}

// The courier handler against a service of its own, which runs in a thread.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <functional>
#include <mutex>
#include <thread>

#include "seriatim/registry.hpp"
#include "support/fd.hpp"
#include "support/handler_rows.hpp"
#include "support/handler_table.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using handlers::Fd;
using Kind = Outcome::Kind;

namespace seriatim::handlers {
void register_courier(HandlerRegistry& registry);
}

namespace {

/// Answers each line by a script and takes no more after an answer other than "ok\n".
class CourierService {
 public:
  using Script = std::function<std::string(const std::string& line)>;

  explicit CourierService(Script script = [](const auto&) { return "ok\n"; })
      : script_(std::move(script)), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = reinterpret_cast<sockaddr*>(&address_);
    socklen_t size = sizeof address_;
    REQUIRE(::bind(socket_.get(), address, size) == 0);
    REQUIRE(::listen(socket_.get(), 8) == 0);
    REQUIRE(::getsockname(socket_.get(), address, &size) == 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~CourierService() {
    ::shutdown(socket_.get(), SHUT_RDWR);  // ends accept
    handler.reset();                       // ends the connection
    thread_.join();
  }

  BatchOutcome deliver(const std::vector<Record>& batch, Values options = {}) {
    if (!handler) {
      HandlerRegistry registry;
      handlers::register_courier(registry);
      const auto url = "courier://127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
      options.emplace("url", value(url));
      Problems problems;
      Options table(table_of(std::move(options)), problems);
      const auto factory = registry.find("courier")->configure(table);
      REQUIRE(problems.text() == "");
      handler = factory(0);
    }
    return handler->handle(batch, call_within(std::chrono::seconds{5}));
  }
  /// What it answered with "ok".
  std::vector<std::string> taken() {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

  std::unique_ptr<Handler> handler;

 private:
  void serve() {
    for (int end = 0; (end = ::accept(socket_.get(), nullptr, nullptr)) >= 0;) converse(Fd(end));
  }
  void converse(const Fd& peer) {
    std::string line;
    for (char c = 0; ::recv(peer.get(), &c, 1, 0) == 1;) {
      if (c != '\n') line += c;
      if (c != '\n') continue;
      const auto answer = script_(line);
      const bool takes = answer == "ok\n";
      if (takes) {  // before the answer: whoever has it may ask what was taken
        const std::lock_guard lock(mutex_);
        taken_.push_back(std::exchange(line, {}));
      }
      ::send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      if (!takes) break;
    }
    ::shutdown(peer.get(), SHUT_WR);
    for (char c = 0; ::recv(peer.get(), &c, 1, 0) == 1;) continue;  // what it does not take
  }

  Script script_;
  Fd socket_;
  sockaddr_in address_{};
  std::mutex mutex_;
  std::vector<std::string> taken_;
  std::thread thread_;
};

/// Answers row 3 so, and the others with "ok".
CourierService::Script third(std::string answer) {
  return [answer](const std::string& line) {
    return line.starts_with("bookings%3Arow-3 ") ? answer : "ok\n";
  };
}

}  // namespace

TEST_CASE("rows arrive in order, each once, over one connection") {
  CourierService service;
  CHECK(service.deliver(rows(1, 2'500)).done == 2'500);
  REQUIRE(service.taken().size() == 2'500);
  CHECK(service.taken().front() == "bookings%3Arow-1 eHh4eHh4eHh4eHh4eHh4eHh4eHg=");
  CHECK(service.taken().back().starts_with("bookings%3Arow-2500 "));
}

TEST_CASE("a refused row ends the batch, and nothing after it is taken") {
  for (const auto& [answer, kind, reason] :
       {std::tuple{"never too heavy\n", Kind::poison, "too heavy"},
        std::tuple{"later it rains\n", Kind::retry_later, "it rains"},
        std::tuple{"perhaps\n", Kind::unknown, "not an answer: perhaps"},
        std::tuple{"", Kind::unknown, "no answer: connection closed"},
        std::tuple{"ok", Kind::unknown, "no answer: connection closed"}}) {
    CAPTURE(answer);
    CourierService service(third(answer));
    const auto outcome = service.deliver(rows(1, 6));
    CHECK(outcome.done == 2);
    REQUIRE(outcome.next);
    CHECK(outcome.next->kind == kind);
    CHECK(outcome.next->reason == reason);
    CHECK(service.taken().size() == 2);
    CHECK(service.deliver(rows(4, 6)).done == 3);  // over a new connection
  }
}

TEST_CASE("a row that cannot be said is poison once the rows before it are done") {
  CourierService service;
  auto batch = rows(1, 4);
  batch[2].payload.reset();
  const auto outcome = service.deliver(batch);
  CHECK(outcome.done == 2);
  CHECK((outcome.next && outcome.next->kind == Kind::poison));
}

TEST_CASE("it logs in, and a refusal does not quote the password") {
  const Values login{{"username", text("relay")}, {"password", text("hush")}};
  CourierService service;
  CHECK(service.deliver(rows(1, 1), login).done == 1);
  CHECK(service.taken().front() == "login relay hush");
  CourierService refuses([](const auto&) { return "never hush\n"; });
  const auto outcome = refuses.deliver(rows(1, 1), login);
  REQUIRE(outcome.next);
  CHECK(outcome.next->reason.find("hush") == std::string::npos);
}

// Calls on fibers, all in one thread: what waits, what goes on, and how much stack it takes.
#include "support/fiber_thread.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "lab/http/http_service.hpp"
#include "support/certificates.hpp"
#include "support/http_client.hpp"
#include "support/process.hpp"
#include "support/readiness.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::lab;
using namespace seriatim::testing;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto fiber_patience = 30s;

/// Counts to what is awaited.
class Tally {
 public:
  void add() {
    const std::scoped_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    count_ += 1;
    changed_.notify_all();
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, fiber_patience, [&] { return count_ >= count; });
  }
  std::size_t threads() {
    const std::scoped_lock lock(mutex_);
    return threads_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t count_ = 0;
  std::set<std::thread::id> threads_;
};

struct Event {
  Event() : fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ::close(fd); }
  void set() const { (void)::eventfd_write(fd, 1); }

  int fd;
};

int status_in(const HttpResult& result) {
  const auto* answer = std::get_if<HttpAnswer>(&result);
  return answer ? answer->status : 0;
}

HttpClientConfig fiber_loopback() {
  return {.allow_private = true};
}

/// What one POST leaves on a stack of its own.
struct PaintedStack {
  static constexpr char paint = 0x5a;
  std::vector<char> memory = std::vector<char>(fiber_stack_bytes, paint);

  void run(std::function<void()> body) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    REQUIRE(pthread_attr_setstack(&attributes, memory.data(), memory.size()) == 0);
    pthread_t thread{};
    const auto start = [](void* what) -> void* {
      (*static_cast<std::function<void()>*>(what))();
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, start, &body) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
  }
  [[nodiscard]] std::size_t used() const {
    const auto deepest =
        std::find_if(memory.begin(), memory.end(), [](char byte) { return byte != paint; });
    return static_cast<std::size_t>(memory.end() - deepest);
  }
};

}  // namespace

TEST_SUITE("calls on fibers") {
  TEST_CASE("a thousand calls wait at once in one thread, and each gets its own event") {
    constexpr std::size_t calls = 1'000;
    const auto thread = make_fiber_thread();
    std::vector<Event> events(calls);
    Tally begun;
    Tally ended;
    std::atomic<int> wrong = 0;
    for (auto& event : events) {
      thread->run([&] {
        begun.add();
        wrong += wait_for_events(event.fd, POLLIN, Clock::now() + fiber_patience) != POLLIN;
        eventfd_t times = 0;
        wrong += ::eventfd_read(event.fd, &times) != 0;
        ended.add();
      });
    }
    REQUIRE(begun.wait_for(calls));
    for (const auto& event : events) event.set();
    REQUIRE(ended.wait_for(calls));
    CHECK(wrong == 0);
    CHECK(ended.threads() == 1);
  }

  TEST_CASE("a wait ends at its deadline, also while others wait longer") {
    Event never;
    Event late;
    Tally ended;
    std::atomic<int> long_wait = -1;
    const auto thread = make_fiber_thread();
    thread->run(
        [&] { long_wait = wait_for_events(late.fd, POLLIN, Clock::now() + fiber_patience); });
    std::array<std::chrono::nanoseconds, 3> took{};
    for (std::size_t i = 0; i < took.size(); ++i) {
      thread->run([&, i] {
        const auto began = Clock::now();
        CHECK(wait_for_events(never.fd, POLLIN, began + (i + 1) * 40ms) == 0);
        took[i] = Clock::now() - began;
        ended.add();
      });
    }
    REQUIRE(ended.wait_for(took.size()));
    for (std::size_t i = 0; i < took.size(); ++i) {
      CHECK(took[i] >= (i + 1) * 40ms);
      CHECK(took[i] < (i + 1) * 40ms + 5s);
    }
    CHECK(long_wait == -1);
    late.set();
    thread->run([&] { ended.add(); });
    REQUIRE(ended.wait_for(took.size() + 1));
    while (long_wait == -1) std::this_thread::yield();
    CHECK(long_wait == POLLIN);
  }

  TEST_CASE("a descriptor whose wait was over before serves the next wait") {
    Event event;
    std::promise<std::pair<int, int>> came;
    const auto thread = make_fiber_thread();
    thread->run([&] {
      const int first = wait_for_events(event.fd, POLLIN, Clock::now() + 1ms);
      event.set();
      came.set_value({first, wait_for_events(event.fd, POLLIN, Clock::now() + fiber_patience)});
    });
    CHECK(came.get_future().get() == std::pair<int, int>(0, POLLIN));
  }

  TEST_CASE("destroying the thread waits for its calls") {
    Event event;
    std::atomic<bool> ended = false;
    Tally begun;
    auto thread = make_fiber_thread();
    thread->run([&] {
      begun.add();
      CHECK(wait_for_events(event.fd, POLLIN, Clock::now() + fiber_patience) == POLLIN);
      ended = true;
    });
    REQUIRE(begun.wait_for(1));
    std::jthread destroying([&] { thread.reset(); });
    CHECK_FALSE(ended);
    event.set();
    destroying.join();
    CHECK(ended);
  }

  TEST_CASE("posts over TLS are in flight at once in one thread") {
    constexpr std::size_t calls = 32;
    const CertificateAuthority authority;
    const auto leaf = authority.issue({.ip_addresses = {"127.0.0.1"}});
    HttpService receiver({.certificate = leaf.certificate, .key = leaf.key});
    const TemporaryFolder folder;
    auto config = fiber_loopback();
    config.ca_file = folder.path() / "ca.pem";
    std::ofstream(config.ca_file) << authority.certificate();
    std::promise<void> open;
    const auto opened = open.get_future().share();
    receiver.reply_with([&](const ReceivedRequest&) {
      opened.wait();
      return Reply::with_status(200);
    });
    Tally ended;
    std::atomic<int> accepted = 0;
    const auto thread = make_fiber_thread();
    for (std::size_t i = 0; i < calls; ++i) {
      thread->run([&] {
        HttpClient client(config);
        for (int post = 0; post < 2; ++post) {
          const auto until = Clock::now() + fiber_patience;
          accepted += status_in(client.post({parse_url(receiver.url()), {}, "{}"}, until)) == 200;
        }
        ended.add();
      });
    }
    CHECK(receiver.wait_for_requests(calls, fiber_patience));
    CHECK(accepted == 0);
    open.set_value();
    REQUIRE(ended.wait_for(calls));
    CHECK(accepted == 2 * calls);
    CHECK(receiver.connections_accepted() == calls);
    CHECK(ended.threads() == 1);
  }

  TEST_CASE("a name server that is slow holds up its own call alone") {
    HttpService receiver;
    std::promise<void> answered;
    const auto answer = answered.get_future().share();
    auto slow = fiber_loopback();
    slow.lookup = [answer](const std::string&, std::chrono::seconds) {
      answer.wait();
      return std::vector<std::string>{"127.0.0.1"};
    };
    std::promise<int> by_name;
    std::promise<int> by_address;
    std::promise<std::string> impatient;
    const auto post = [&](const HttpClientConfig& config, const std::string& host,
                          std::chrono::milliseconds time) {
      HttpClient client(config);
      const auto url = "http://" + host + ':' + std::to_string(receiver.port()) + '/';
      return client.post({parse_url(url), {}, "{}"}, Clock::now() + time);
    };
    const auto thread = make_fiber_thread();
    thread->run([&] { by_name.set_value(status_in(post(slow, "receiver.test", 30s))); });
    thread->run([&] {
      impatient.set_value(std::get<HttpFailure>(post(slow, "receiver.test", 20ms)).what);
    });
    thread->run([&] { by_address.set_value(status_in(post(fiber_loopback(), "127.0.0.1", 30s))); });
    CHECK(by_address.get_future().get() == 200);
    CHECK(impatient.get_future().get().find("name server did not answer") != std::string::npos);
    answered.set_value();
    CHECK(by_name.get_future().get() == 200);
  }

  // Sanitizers need a multiple of it, and glibc refuses a stack that is painted then.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  TEST_CASE("a post over TLS takes less than a quarter of a fiber's stack") {
    const CertificateAuthority authority;
    const auto leaf = authority.issue({.dns_names = {"localhost"}});
    HttpService receiver({.certificate = leaf.certificate, .key = leaf.key});
    const TemporaryFolder folder;
    const auto ca_file = (folder.path() / "ca.pem").string();
    std::ofstream(ca_file) << authority.certificate();
    const auto url = parse_url("https://localhost:" + std::to_string(receiver.port()) + '/');
    int status = 0;
    std::string refused;
    PaintedStack stack;
    stack.run([&] {
      auto config = fiber_loopback();
      const auto post = [&] {
        HttpClient client(config);
        return client.post({url, {}, std::string(100'000, 'x')}, Clock::now() + fiber_patience);
      };
      refused = std::get<HttpFailure>(post()).what;  // reads the system's authorities
      config.ca_file = ca_file;
      status = status_in(post());
    });
    CHECK(refused.find("certificate refused") != std::string::npos);
    CHECK(status == 200);
    MESSAGE("bytes of stack: " << stack.used());
    CHECK(stack.used() < fiber_stack_bytes / 4);
  }
#endif
}

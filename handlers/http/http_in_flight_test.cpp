// Several calls of the http handler in flight: in one thread, each key in order.
#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include "http/http_handler.hpp"
#include "lab/http/http_service.hpp"
#include "seriatim/testing/memory_source.hpp"
#include "support/in_process_relay.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

constexpr auto in_flight_patience = 30s;

ProcessConfig http_process(unsigned in_flight) {
  ProcessConfig config;
  config.name = "p";
  config.in_flight = in_flight;
  config.backoff.first = 1ms;
  config.backoff.max = 5ms;
  config.standby_interval = 1ms;
  config.poll_interval_max = 2ms;
  return config;
}

HandlerFactory http_to(const HttpService& receiver) {
  HttpHandlerConfig config;
  config.target.url = receiver.url();
  config.target.client.allow_private = true;
  return [config](unsigned) { return std::make_unique<HttpHandler>(config); };
}

std::shared_ptr<MemorySource> keyed_rows(int rows, int keys) {
  auto source = std::make_shared<MemorySource>();
  for (int i = 0; i < rows; ++i) {
    Record record;
    record.key = "k" + std::to_string(i % keys);
    record.payload = *record.key;
    source->append(record);
  }
  return source;
}

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// Holds answers back until it is opened.
class AnswerGate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, in_flight_patience, [this] { return open_; });
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace

TEST_SUITE("http, several calls in flight") {
  TEST_CASE("64 calls are in flight at once in one more thread, and each key stays in order") {
    HttpService receiver;
    AnswerGate gate;
    receiver.reply_with([&](const ReceivedRequest&) {
      gate.pass();
      return Reply::with_status(200);
    });
    const auto source = keyed_rows(640, 64);
    const auto before = threads_of_this_process();
    InProcessRelay relay(source, http_process(64), http_to(receiver));
    REQUIRE(receiver.wait_for_requests(64, in_flight_patience));
    // One of the relay, its auditor, one of the lane, one for its calls; the receiver has one for
    // each connection.
    CHECK(receiver.connections_open() == 64);
    CHECK(threads_of_this_process() - before <= receiver.connections_open() + 4);
    gate.open();
    REQUIRE(receiver.wait_for_requests(640, in_flight_patience));
    relay.stop();
    CHECK(source->cursor({"p", 0, 1}).sequence == 640);
    std::map<std::string, long> last;
    for (const auto& request : receiver.requests()) {
      const auto sequence = std::stol(request.header("seriatim-sequence").value_or("0"));
      CHECK(last[request.body] < sequence);
      last[request.body] = sequence;
    }
    CHECK(receiver.request_count() == 640);
    CHECK(receiver.connections_accepted() == 64);
  }

  TEST_CASE("a call that hangs ends at its deadline, and the others go on meanwhile") {
    HttpService receiver;
    receiver.reply_with([](const ReceivedRequest& request) {
      const bool hangs = request.body == "k0" && request.header("seriatim-attempt") == "1";
      return hangs ? Reply::doing(Reply::Act::hang) : Reply::with_status(200);
    });
    const auto source = keyed_rows(8, 8);
    auto config = http_process(8);
    config.handler_deadline = 500ms;
    InProcessRelay relay(source, config, http_to(receiver));
    REQUIRE(receiver.wait_for_requests(9, in_flight_patience));  // the first comes again
    REQUIRE(relay.status->wait_for([](const LaneStatus& status) { return status.sequence == 8; }));
    relay.stop();
    const auto requests = receiver.requests();
    const auto is_first = [](const ReceivedRequest& request) { return request.body == "k0"; };
    const auto first = std::find_if(requests.begin(), requests.end(), is_first);
    const auto again = std::find_if(first + 1, requests.end(), is_first);
    REQUIRE(again != requests.end());
    CHECK(again->at - first->at >= 450ms);
    CHECK(again->at - first->at < 10s);
    for (const auto& request : requests) {
      if (request.body != "k0") CHECK(request.at - first->at < 450ms);
    }
  }

  TEST_CASE("rate_limit: rows take their time, whatever the number of calls") {
    for (const unsigned in_flight : {1U, 16U}) {
      CAPTURE(in_flight);
      HttpService receiver;
      auto config = http_process(in_flight);
      config.rate_limit.rows = 40;
      const auto source = keyed_rows(60, 20);
      const auto began = std::chrono::steady_clock::now();
      InProcessRelay relay(source, config, http_to(receiver));
      REQUIRE(receiver.wait_for_requests(60, in_flight_patience));
      // The first four may go out at once.
      CHECK(std::chrono::steady_clock::now() - began >= 56 * 25ms);
      relay.stop();
      CHECK(receiver.request_count() == 60);
      CHECK(source->cursor({"p", 0, 1}).sequence == 60);
    }
  }

  TEST_CASE("key_rate_limit: a key that has to wait lets others pass") {
    HttpService receiver;
    auto config = http_process(4);
    config.key_rate_limit = {1, std::chrono::hours(1)};
    const auto source = keyed_rows(60, 20);
    InProcessRelay relay(source, config, http_to(receiver));
    REQUIRE(receiver.wait_for_requests(20, in_flight_patience));
    relay.stop();
    std::set<std::string> keys;
    for (const auto& request : receiver.requests()) keys.insert(request.body);
    CHECK(keys.size() == 20);
    CHECK(receiver.request_count() == 20);
    CHECK(source->cursor({"p", 0, 1}).sequence == 20);  // all others wait
  }

  TEST_CASE("a stop waits for the answers that are on their way") {
    HttpService receiver;
    AnswerGate gate;
    receiver.reply_with([&](const ReceivedRequest&) {
      gate.pass();
      return Reply::with_status(200);
    });
    const auto source = keyed_rows(40, 40);
    InProcessRelay relay(source, http_process(16), http_to(receiver));
    REQUIRE(receiver.wait_for_requests(16, in_flight_patience));
    std::jthread stopping([&] { relay.stop(); });
    gate.open();
    stopping.join();
    CHECK(source->cursor({"p", 0, 1}).sequence == receiver.request_count());
    CHECK(receiver.request_count() >= 16);
  }
}

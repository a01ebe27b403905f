// Several calls in flight, over threads: what goes out at once, and what waits.
#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "seriatim/testing/memory_source.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using testing::DeliveryLog;
using testing::InProcessRelay;
using testing::MemorySource;

namespace {

constexpr auto patience = 30s;

ProcessConfig several(unsigned in_flight) {
  ProcessConfig config;
  config.name = "p";
  config.in_flight = in_flight;
  config.backoff.first = 1ms;
  config.backoff.max = 5ms;
  config.standby_interval = 1ms;
  config.poll_interval_max = 2ms;
  return config;
}

Record row(const std::string& key) {
  Record record;
  record.key = key;
  record.payload = "{}";
  return record;
}

/// Counts the calls in flight, by key too, and can hold them.
class Gate {
 public:
  /// Returns once the gate is open.
  void pass(const Record& record) {
    std::unique_lock lock(mutex_);
    now_ += 1;
    most_ = std::max(most_, now_);
    overlaps_ += ++of_key_[*record.key] > 1;
    changed_.notify_all();
    changed_.wait_for(lock, patience, [this] { return open_; });
    of_key_[*record.key] -= 1;
    now_ -= 1;
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool wait_for_calls(unsigned count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return now_ >= count; });
  }
  unsigned most() const { return most_; }
  unsigned overlaps() const { return overlaps_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, unsigned> of_key_;
  unsigned now_ = 0, most_ = 0, overlaps_ = 0;
  bool open_ = false;
};

/// Rows of a key in the order they were appended, each once.
bool each_key_in_order(const std::vector<Record>& records) {
  std::map<std::string, long> last;
  std::set<std::uint64_t> numbers;
  for (const auto& record : records) {
    auto& before = last[*record.key];
    if (std::stol(record.id()) <= before || !numbers.insert(record.sequence).second) return false;
    before = std::stol(record.id());
  }
  return true;
}

}  // namespace

TEST_SUITE("several calls in flight") {
  TEST_CASE("rows of different keys are called at once, as many as configured, of one key never") {
    auto source = std::make_shared<MemorySource>();
    for (int i = 0; i < 60; ++i) source->append(row("k" + std::to_string(i % 6)));
    DeliveryLog log;
    Gate gate;
    InProcessRelay relay(source, several(4), handler_from([&](const Record& record) {
                           gate.pass(record);
                           log.add(record);
                           return Outcome::done();
                         }));
    CHECK(gate.wait_for_calls(4));
    gate.open();
    CHECK(log.wait_for_rows(60));
    relay.stop();
    CHECK(gate.most() == 4);
    CHECK(gate.overlaps() == 0);
    CHECK(log.size() == 60);
    CHECK(each_key_in_order(log.records()));
    CHECK(source->cursor({"p", 0, 1}).sequence == 60);
    CHECK(source->cursor({"p", 0, 1}).ahead.empty());
  }

  TEST_CASE("rows without a key go out one after another") {
    auto source = std::make_shared<MemorySource>();
    Record keyless;
    keyless.payload = "{}";
    for (int i = 0; i < 40; ++i) source->append(keyless);
    DeliveryLog log;
    std::atomic<int> now = 0, most = 0;
    InProcessRelay relay(source, several(8), handler_from([&](const Record& record) {
                           most = std::max<int>(most, ++now);
                           log.add(record);
                           --now;
                           return Outcome::done();
                         }));
    CHECK(log.wait_for_rows(40));
    relay.stop();
    CHECK(most == 1);
    const auto records = log.records();
    for (std::size_t i = 1; i < records.size(); ++i) {
      CHECK(std::stol(records[i - 1].id()) < std::stol(records[i].id()));
    }
  }

  TEST_CASE("a row that fails holds up the rows after it; those that were in flight count") {
    auto source = std::make_shared<MemorySource>();
    for (int i = 0; i < 8; ++i) source->append(row("k" + std::to_string(i)));
    DeliveryLog log;
    Gate others;
    std::atomic<bool> poison = true;
    const LaneId lane{"p", 0, 1};
    InProcessRelay relay(source, several(4), handler_from([&](const Record& record) {
                           if (record.id() == "1" && poison) {
                             others.wait_for_calls(3);
                             others.open();
                             return Outcome::poison("422");
                           }
                           if (poison) others.pass(record);
                           log.add(record);
                           return Outcome::done();
                         }));
    REQUIRE(relay.status->wait_for(
        [](const LaneStatus& status) { return status.state == LaneState::halted; }));
    const auto halted = source->cursor(lane);
    CHECK(halted.row_id == "1");
    CHECK_FALSE(halted.position.has_value());
    CHECK(halted.ahead.done.size() >= 3);  // a fourth may have begun in the place of one that ended
    const auto before = log.size();
    poison = false;
    source->retry(lane);
    CHECK(log.wait_for_rows(8));
    relay.stop();
    CHECK(before < 8);
    CHECK(log.size() == 8);  // nothing goes out again
    CHECK(source->cursor(lane).sequence == 8);
  }

  TEST_CASE("a stop waits for the calls in flight, and the next relay repeats nothing") {
    auto source = std::make_shared<MemorySource>();
    for (int i = 0; i < 200; ++i) source->append(row("k" + std::to_string(i % 10)));
    DeliveryLog log;
    const auto handler = handler_from([&](const Record& record) {
      log.add(record);
      std::this_thread::sleep_for(1ms);  // so that a stop comes between
      return Outcome::done();
    });
    auto config = several(6);
    config.commit_every = 3;
    for (std::size_t rows = 30; rows <= 150; rows += 60) {
      InProcessRelay relay(source, config, handler);
      CHECK(log.wait_for_rows(rows));
    }
    config.in_flight = 1;  // what several calls left is finished by one
    InProcessRelay relay(source, config, handler);
    CHECK(log.wait_for_rows(200));
    relay.stop();
    CHECK(log.size() == 200);
    CHECK(each_key_in_order(log.records()));
    CHECK(source->cursor({"p", 0, 1}).sequence == 200);
  }

  TEST_CASE("draining delivers everything and ends") {
    auto source = std::make_shared<MemorySource>();
    for (int i = 0; i < 100; ++i) source->append(row("k" + std::to_string(i % 7)));
    DeliveryLog log;
    Relay relay({.drain = true});
    relay.add(several(5), source, handler_from([&](const Record& record) {
                log.add(record);
                return Outcome::done();
              }));
    const auto left = relay.run({});
    CHECK(log.size() == 100);
    CHECK(each_key_in_order(log.records()));
    CHECK(left.at(0).state == LaneState::stopped);
    CHECK(left.at(0).sequence == 100);
  }

  TEST_CASE("limits that do not fit are refused with what to change") {
    auto source = std::make_shared<MemorySource>();
    Relay relay;
    auto config = several(10);
    config.window_rows = 10;
    CHECK_THROWS_WITH_AS(
        relay.add(config, source, handler_from([](const Record&) { return Outcome::done(); })),
        doctest::Contains("window_rows must be at least"), ConfigError);
    config = several(0);
    CHECK_THROWS_WITH_AS(
        relay.add(config, source, handler_from([](const Record&) { return Outcome::done(); })),
        doctest::Contains("in_flight must be 1 to 1024"), ConfigError);
  }
}

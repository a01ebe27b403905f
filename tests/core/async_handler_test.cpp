// Handlers that begin a call and answer it later, from whatever thread.
#include "seriatim/async_handler.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "runtime/calls.hpp"
#include "seriatim/testing/memory_source.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using testing::DeliveryLog;
using testing::InProcessRelay;
using testing::MemorySource;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto async_patience = 30s;

ProcessConfig async_process(unsigned in_flight) {
  ProcessConfig config;
  config.name = "p";
  config.in_flight = in_flight;
  config.backoff.first = 1ms;
  config.backoff.max = 5ms;
  config.standby_interval = 1ms;
  config.poll_interval_max = 2ms;
  return config;
}

std::shared_ptr<MemorySource> source_of(int rows, int keys) {
  auto source = std::make_shared<MemorySource>();
  for (int i = 0; i < rows; ++i) {
    Record record;
    record.key = "k" + std::to_string(i % keys);
    record.payload = "{}";
    source->append(record);
  }
  return source;
}

/// Keeps calls until they are answered, and counts those of a key that overlap.
class CallsHeld {
 public:
  void add(const Record& record, Completion done) {
    const std::scoped_lock lock(mutex_);
    overlaps_ += ++of_key_[record.key.value_or("")] > 1;
    calls_.push_back({record.key.value_or(""), std::move(done)});
    most_ = std::max(most_, calls_.size());
    changed_.notify_all();
  }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, async_patience, [&] { return calls_.size() >= count; });
  }
  /// Takes the oldest; waits for one.
  Completion take() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, async_patience, [&] { return !calls_.empty(); });
    REQUIRE_FALSE(calls_.empty());
    auto call = std::move(calls_.front());
    calls_.pop_front();
    of_key_[call.key] -= 1;
    return std::move(call.done);
  }
  /// Answers what is there.
  int answer_all() {
    std::deque<Call> calls;
    {
      const std::scoped_lock lock(mutex_);
      calls.swap(calls_);
    }
    for (const auto& call : calls) call.done(Outcome::done());
    return static_cast<int>(calls.size());
  }
  std::size_t most() const { return most_; }
  int overlaps() const { return overlaps_; }

  AsyncHandlerFactory factory() {
    return async_handler_from([this](const Record& record, const CallContext&, Completion done) {
      add(record, std::move(done));
    });
  }

 private:
  struct Call {
    std::string key;
    Completion done;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;
  std::map<std::string, int> of_key_;
  std::size_t most_ = 0;
  int overlaps_ = 0;
};

/// What a lane does with its calls, by hand.
class Hand {
 public:
  Hand(const AsyncHandlerFactory& make, unsigned in_flight)
      : calls(runtime::async_calls(make(0), in_flight, {5s, stop.get_token(), [this] {
                                                          const std::scoped_lock lock(mutex);
                                                          woken += 1;
                                                          changed.notify_all();
                                                        }})) {
    calls->begin_until(Clock::time_point::max());
  }
  void begin(std::uint64_t sequence) {
    auto row = std::make_shared<Record>();
    row->sequence = sequence;
    calls->begin(row);
  }
  /// The next answers; waits for some.
  std::vector<core::Answer> answers() {
    std::unique_lock lock(mutex);
    const bool any = changed.wait_for(lock, async_patience, [&] { return woken > 0; });
    REQUIRE(any);
    woken = 0;
    lock.unlock();
    return calls->take();
  }
  std::string reason() {
    const auto all = answers();
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].outcome);
    return std::string(to_string(all[0].outcome->kind)) + ": " + all[0].outcome->reason;
  }

  std::stop_source stop;
  std::mutex mutex;
  std::condition_variable changed;
  int woken = 0;
  std::unique_ptr<runtime::Calls> calls;
};

AsyncHandlerFactory async_throwing(std::function<void(const Completion&)> what) {
  return async_handler_from(
      [what](const Record&, const CallContext&, const Completion& done) { what(done); });
}

}  // namespace

TEST_SUITE("asynchronous handlers") {
  TEST_CASE("as many calls as configured are in flight at once, and answered by another thread") {
    const auto source = source_of(60, 6);
    CallsHeld held;
    InProcessRelay relay(source, async_process(4), held.factory());
    REQUIRE(held.wait_for(4));
    std::jthread answering([&] {
      for (int i = 0; i < 60; ++i) held.take()(Outcome::done());
    });
    answering.join();
    relay.stop();
    CHECK(held.most() == 4);
    CHECK(held.overlaps() == 0);
    CHECK(source->cursor({"p", 0, 1}).sequence == 60);
  }

  TEST_CASE("with in_flight = 1 calls come one after another, in order") {
    const auto source = source_of(20, 20);
    CallsHeld held;
    DeliveryLog log;
    InProcessRelay relay(
        source, async_process(1),
        async_handler_from([&](const Record& record, const CallContext& context, Completion done) {
          CHECK(context.transaction == nullptr);
          log.add(record);
          held.add(record, std::move(done));
        }));
    for (int i = 0; i < 20; ++i) held.take()(Outcome::done());
    CHECK(log.wait_for_rows(20));
    relay.stop();
    CHECK(held.most() == 1);
    const auto records = log.records();
    REQUIRE(records.size() == 20);
    for (std::size_t i = 0; i < records.size(); ++i) CHECK(records[i].sequence == i + 1);
  }

  TEST_CASE("the first answer of a call counts, whoever answers again") {
    CallsHeld held;
    std::optional<Completion> late;
    {
      Hand lane(held.factory(), 2);
      lane.begin(1);
      late = held.take();
      CHECK((*late)(Outcome::done()));
      CHECK_FALSE((*late)(Outcome::poison("again")));
      CHECK(lane.reason() == "done: ");
    }
    CHECK_FALSE((*late)(Outcome::poison("after the relay is gone")));
  }

  TEST_CASE("a call that is dropped counts as one to try later, and says so") {
    const auto source = source_of(1, 1);
    std::atomic<int> begun = 0;
    for (const unsigned in_flight : {1U, 3U}) {
      Hand lane(async_handler_from([](const Record&, const CallContext&, const Completion&) {}),
                in_flight);
      lane.begin(1);
      CHECK(lane.reason() == "retry: the handler dropped the call and did not answer it");
    }
    InProcessRelay relay(
        source, async_process(1),
        async_handler_from([&](const Record&, const CallContext&, const Completion& done) {
          if (++begun == 3) done(Outcome::done());
        }));
    REQUIRE(relay.status->wait_for([](const LaneStatus& status) {
      return status.state == LaneState::retrying &&
             status.detail.find("dropped the call") != std::string::npos;
    }));
    REQUIRE(relay.status->wait_for([](const LaneStatus& status) { return status.sequence == 1; }));
    CHECK(begun == 3);
  }

  TEST_CASE("what begin throws is an outcome, unless the call is answered") {
    const auto said = [](std::function<void(const Completion&)> what) {
      Hand lane(async_throwing(std::move(what)), 2);
      lane.begin(1);
      return lane.reason();
    };
    CHECK(said([](const Completion&) { throw std::runtime_error("no pen"); }) ==
          "retry: the handler threw: no pen");
    CHECK(said([](const Completion&) { throw CannotRender("no ink"); }) == "poison: no ink");
    CHECK(said([](const Completion&) { throw 7; }) ==
          "retry: the handler threw something that is no std::exception");
    CHECK(said([](const Completion& done) {
            done(Outcome::done());
            throw std::runtime_error("afterwards");
          }) == "done: ");
  }

  TEST_CASE("a call has the process's deadline, and is waited for when it is over") {
    CallsHeld held;
    Clock::time_point deadline;
    Hand lane(
        async_handler_from([&](const Record& record, const CallContext& context, Completion done) {
          deadline = context.deadline;
          held.add(record, std::move(done));
        }),
        2);
    CHECK(lane.calls->earliest_deadline() == Clock::time_point::max());
    const auto before = Clock::now();
    lane.begin(1);
    const auto done = held.take();
    CHECK(deadline >= before + 5s);
    CHECK(deadline <= Clock::now() + 5s);
    CHECK(lane.calls->earliest_deadline() == deadline);
    lane.calls->revoke();  // it has begun
    CHECK(lane.calls->take().empty());
    done(Outcome::done());
    CHECK(lane.reason() == "done: ");
    CHECK(lane.calls->earliest_deadline() == Clock::time_point::max());
  }

  TEST_CASE("rows that wait for their call are given back") {
    CallsHeld held;
    Hand lane(held.factory(), 1);
    for (std::uint64_t row = 1; row <= 3; ++row) lane.begin(row);
    const auto done = held.take();
    lane.calls->revoke();
    auto given_back = lane.calls->take();
    REQUIRE(given_back.size() == 2);
    CHECK_FALSE(given_back[0].outcome);
    CHECK(given_back[0].number == 2);
    CHECK(given_back[1].number == 3);
    done(Outcome::done());
    CHECK(lane.reason() == "done: ");
    CHECK(held.most() == 1);
  }

  TEST_CASE("no call begins after the time that the lane gave") {
    CallsHeld held;
    Hand lane(held.factory(), 1);
    lane.calls->begin_until(Clock::now() - 1ms);
    lane.begin(1);
    const auto answers = lane.answers();
    REQUIRE(answers.size() == 1);
    CHECK_FALSE(answers[0].outcome);
    CHECK(held.most() == 0);
  }

  TEST_CASE("a stop waits for the calls in flight, and tells the handler") {
    const auto source = source_of(10, 10);
    CallsHeld held;
    std::atomic<int> stops = 0;
    std::vector<std::stop_token> tokens;
    std::mutex mutex;
    InProcessRelay relay(
        source, async_process(3),
        async_handler_from([&](const Record& record, const CallContext& context, Completion done) {
          const std::scoped_lock lock(mutex);
          tokens.push_back(context.stop);
          held.add(record, std::move(done));
        }));
    REQUIRE(held.wait_for(3));
    const std::stop_callback told(tokens.front(), [&] { stops += 1; });
    std::atomic<bool> stopped = false;
    std::jthread stopping([&] {
      relay.stop();
      stopped = true;
    });
    while (stops == 0) std::this_thread::yield();
    held.take()(Outcome::done());
    held.take()(Outcome::done());
    CHECK_FALSE(stopped);
    int answered = 2;
    while (!stopped) answered += held.answer_all();  // a fourth may have begun before the lane knew
    stopping.join();
    CHECK(answered >= 3);
    CHECK(source->cursor({"p", 0, 1}).sequence == static_cast<std::uint64_t>(answered));
  }

  TEST_CASE("the handler is destroyed after the last answer") {
    CallsHeld held;
    std::atomic<bool> gone = false;
    struct Noting final : AsyncHandler {
      Noting(CallsHeld& calls, std::atomic<bool>& note) : held(calls), gone(note) {}
      ~Noting() override { gone = true; }
      void begin(const Record& record, const CallContext&, Completion done) override {
        held.add(record, std::move(done));
      }
      CallsHeld& held;
      std::atomic<bool>& gone;
    };
    auto lane =
        std::make_unique<Hand>([&](unsigned) { return std::make_unique<Noting>(held, gone); }, 2);
    lane->begin(1);
    REQUIRE(held.wait_for(1));
    std::jthread ending([&] { lane.reset(); });
    CHECK_FALSE(gone);
    held.take()(Outcome::done());
    ending.join();
    CHECK(gone);
  }

  TEST_CASE("an asynchronous handler never sees an event type that is not listed") {
    const auto source = source_of(1, 1);
    CallsHeld held;
    auto config = async_process(2);
    config.event_types = {"paid"};
    InProcessRelay relay(source, config, held.factory());
    CHECK(relay.status->wait_for([](const LaneStatus& status) {
      return status.state == LaneState::halted &&
             status.detail.find("event type") != std::string::npos;
    }));
    CHECK(held.most() == 0);
  }
}

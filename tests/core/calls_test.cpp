// The ways to make several calls at once, by hand: what they owe to a lane, whatever makes them.
#include "runtime/calls.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

using namespace seriatim;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto calls_patience = 30s;

/// Handlers whose calls wait until they are let go.
class Held {
 public:
  HandlerFactory factory() {
    return handler_from([this](const Record& record) {
      std::unique_lock lock(mutex_);
      begun_ += 1;
      changed_.notify_all();
      changed_.wait_for(lock, calls_patience, [this] { return open_; });
      return record.sequence == 7 ? Outcome::poison("seven") : Outcome::done();
    });
  }
  bool wait_for_calls(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, calls_patience, [&] { return begun_ >= count; });
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int begun() {
    const std::scoped_lock lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  bool open_ = false;
};

/// Not one thread, but its users cannot see that.
class SeveralThreads final : public CallThread {
 public:
  void run(std::function<void()> call) override { threads_.emplace_back(std::move(call)); }

 private:
  std::vector<std::jthread> threads_;
};

struct NoThread final : CallThread {
  void run(std::function<void()>) override {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
};

/// A lane's side of its calls.
class Lane {
 public:
  runtime::CallNeeds needs() {
    return {5s, stop_.get_token(), [this] {
              const std::scoped_lock lock(mutex_);
              woken_ = true;
              changed_.notify_all();
            }};
  }
  static void begin(runtime::Calls& calls, std::uint64_t sequence) {
    auto row = std::make_shared<Record>();
    row->sequence = sequence;
    calls.begin(std::move(row));
  }
  /// By number: what became of `count` rows, "" if one was not begun.
  std::map<std::uint64_t, std::string> answers(runtime::Calls& calls, std::size_t count) {
    std::map<std::uint64_t, std::string> all;
    const auto until = Clock::now() + calls_patience;
    while (all.size() < count && Clock::now() < until) {
      for (const auto& answer : calls.take()) {
        all[answer.number] = answer.outcome ? to_string(answer.outcome->kind) : "";
      }
      std::unique_lock lock(mutex_);
      if (all.size() < count) changed_.wait_until(lock, until, [this] { return woken_; });
      woken_ = false;
    }
    return all;
  }

 private:
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

std::vector<std::unique_ptr<Handler>> two_of(const HandlerFactory& make) {
  std::vector<std::unique_ptr<Handler>> handlers;
  for (int i = 0; i < 2; ++i) handlers.push_back(make(0));
  return handlers;
}

template <class Test>
void with_each_form(Held& held, Lane& lane, Test test) {
  SUBCASE("a thread for each") {
    test(runtime::threaded_calls(two_of(held.factory()), lane.needs()));
  }
  SUBCASE("a thread that the handler names") {
    test(runtime::calls_in_one_thread(two_of(held.factory()), std::make_unique<SeveralThreads>(),
                                      lane.needs()));
  }
}

using CallsPtr = std::unique_ptr<runtime::Calls>;

}  // namespace

TEST_SUITE("calls next to a lane") {
  TEST_CASE("as many rows are called as there are handlers, the others after them") {
    Held held;
    Lane lane;
    with_each_form(held, lane, [&](const CallsPtr& calls) {
      calls->begin_until(Clock::time_point::max());
      for (std::uint64_t row = 5; row <= 8; ++row) Lane::begin(*calls, row);
      REQUIRE(held.wait_for_calls(2));
      CHECK(held.begun() == 2);
      CHECK(calls->earliest_deadline() <= Clock::now() + 5s);
      held.let_go();
      const auto answers = lane.answers(*calls, 4);
      CHECK(answers.at(5) == "done");
      CHECK(answers.at(7) == "poison");
      CHECK(calls->earliest_deadline() == Clock::time_point::max());
    });
  }

  TEST_CASE("rows that wait are given back, those in flight are finished") {
    Held held;
    Lane lane;
    with_each_form(held, lane, [&](const CallsPtr& calls) {
      calls->begin_until(Clock::time_point::max());
      for (std::uint64_t row = 1; row <= 4; ++row) Lane::begin(*calls, row);
      REQUIRE(held.wait_for_calls(2));
      calls->revoke();
      held.let_go();
      const auto answers = lane.answers(*calls, 4);
      REQUIRE(answers.size() == 4);
      CHECK(answers.at(1) == "done");
      CHECK(answers.at(2) == "done");
      CHECK(answers.at(3).empty());
      CHECK(answers.at(4).empty());
      CHECK(held.begun() == 2);
    });
  }

  TEST_CASE("a row that waited too long is given back when its turn comes") {
    Held held;
    Lane lane;
    with_each_form(held, lane, [&](const CallsPtr& calls) {
      calls->begin_until(Clock::time_point::max());
      for (std::uint64_t row = 1; row <= 3; ++row) Lane::begin(*calls, row);
      REQUIRE(held.wait_for_calls(2));
      calls->begin_until(Clock::now() - 1ms);
      held.let_go();
      const auto answers = lane.answers(*calls, 3);
      REQUIRE(answers.size() == 3);
      CHECK(answers.at(3).empty());
      CHECK(held.begun() == 2);
    });
  }

  TEST_CASE("their end waits for the calls in flight") {
    Held held;
    Lane lane;
    with_each_form(held, lane, [&](CallsPtr calls) {
      calls->begin_until(Clock::time_point::max());
      Lane::begin(*calls, 1);
      REQUIRE(held.wait_for_calls(1));
      std::atomic<bool> ended = false;
      std::jthread ending([&] {
        calls.reset();
        ended = true;
      });
      CHECK_FALSE(ended);
      held.let_go();
    });
  }

  TEST_CASE("without a thread a row is given back, and the next attempt finds its handler") {
    Held held;
    Lane lane;
    const auto calls = runtime::calls_in_one_thread(two_of(held.factory()),
                                                    std::make_unique<NoThread>(), lane.needs());
    calls->begin_until(Clock::time_point::max());
    for (std::uint64_t row = 1; row <= 3; ++row) Lane::begin(*calls, row);
    const auto answers = calls->take();
    REQUIRE(answers.size() == 3);
    for (const auto& answer : answers) CHECK_FALSE(answer.outcome);
  }
}

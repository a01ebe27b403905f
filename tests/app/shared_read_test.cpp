// One read serves all who ask while it is made, and for a while after.
#include "app/shared_read.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace seriatim::app;
using namespace std::chrono_literals;

namespace {

struct PlayedClock {
  SharedRead<int>::Clock::time_point now{};
};

}  // namespace

TEST_SUITE("shared read") {
  TEST_CASE("an answer that took d serves for twenty times d, and is read anew then") {
    PlayedClock clock;
    int reads = 0;
    SharedRead<int> shared(
        [&] {
          clock.now += 10ms;
          return ++reads;
        },
        [&] { return clock.now; });
    const auto first = shared.get();
    CHECK(*first == 1);
    clock.now += 199ms;
    CHECK(shared.get() == first);
    clock.now += 1ms;
    CHECK(*shared.get() == 2);
    CHECK(reads == 2);
  }

  TEST_CASE("after an act it is read anew at once, also if a read was under way") {
    PlayedClock clock;
    int reads = 0;
    SharedRead<int>* self = nullptr;
    bool acts_meanwhile = false;
    SharedRead<int> shared(
        [&] {
          clock.now += 10ms;
          if (acts_meanwhile) self->expire();
          return ++reads;
        },
        [&] { return clock.now; });
    self = &shared;
    CHECK(*shared.get() == 1);
    shared.expire();
    CHECK(*shared.get() == 2);
    CHECK(*shared.get() == 2);
    clock.now += 1s;
    acts_meanwhile = true;
    CHECK(*shared.get() == 3);
    acts_meanwhile = false;
    CHECK(*shared.get() == 4);
    CHECK(*shared.get() == 4);
  }

  TEST_CASE("all who ask while it is read wait for the one read") {
    std::latch all_there(4);
    std::atomic<int> reads = 0;
    std::atomic<int> ticks = 0;  // it goes on as it is asked, so nobody comes too late
    SharedRead<int> shared(
        [&] {
          all_there.wait();
          return ++reads;
        },
        [&] { return SharedRead<int>::Clock::time_point{std::chrono::milliseconds{ticks++}}; });
    std::vector<std::jthread> askers;
    std::atomic<int> answers = 0;
    for (int i = 0; i < 4; ++i) {
      askers.emplace_back([&] {
        all_there.count_down();
        answers += *shared.get();
      });
    }
    askers.clear();
    CHECK(reads == 1);
    CHECK(answers == 4);
  }

  TEST_CASE("an error reaches who asked, and the next one reads again") {
    bool broken = true;
    SharedRead<int> shared([&] {
      if (std::exchange(broken, false)) throw std::runtime_error("away");
      return 7;
    });
    CHECK_THROWS_WITH_AS((void)shared.get(), "away", std::runtime_error);
    CHECK(*shared.get() == 7);
  }
}

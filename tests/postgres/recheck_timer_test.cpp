#include "postgres/reader/recheck_timer.hpp"

#include <doctest/doctest.h>

using namespace seriatim::postgres;
using namespace std::chrono_literals;

namespace {

constexpr RecheckTimer::Clock::time_point start{1000h};

RecheckTimer checked_at_start(bool whole, RecheckTimer::Clock::duration pause = 0s) {
  RecheckTimer timer;
  timer.checked(start, pause, whole);
  return timer;
}

}  // namespace

TEST_CASE("the first check is due at once") {
  CHECK(RecheckTimer().due(start));
}

TEST_CASE("after a check of everything the next waits for a minute, or a prompt") {
  auto timer = checked_at_start(true);
  CHECK_FALSE(timer.due(start + 59s));
  CHECK(timer.due(start + 60s));
  timer.prompt();
  CHECK_FALSE(timer.due(start + 999ms));
  CHECK(timer.due(start + 1s));
}

TEST_CASE("while something is left to check it goes on every second") {
  const auto timer = checked_at_start(false);
  CHECK_FALSE(timer.due(start + 999ms));
  CHECK(timer.due(start + 1s));
}

TEST_CASE("an expensive check is followed by its pause, prompted or not") {
  const auto timer = checked_at_start(false, 5s);
  CHECK_FALSE(timer.due(start + 4s));
  CHECK(timer.due(start + 5s));
}

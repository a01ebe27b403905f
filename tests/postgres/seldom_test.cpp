#include "postgres/reader/seldom.hpp"

#include <doctest/doctest.h>

using namespace seriatim::postgres;
using namespace std::chrono_literals;

namespace {

constexpr Seldom::Clock::time_point start{1000h};

Seldom looked_at_start(bool whole, Seldom::Clock::duration pause = 0s) {
  Seldom seldom;
  seldom.looked(start, pause, whole);
  return seldom;
}

}  // namespace

TEST_CASE("the first look is due at once") {
  CHECK(Seldom().due(start));
}

TEST_CASE("after a look at everything the next waits for a minute, or a prompt") {
  auto seldom = looked_at_start(true);
  CHECK_FALSE(seldom.due(start + 59s));
  CHECK(seldom.due(start + 60s));
  seldom.prompt();
  CHECK_FALSE(seldom.due(start + 999ms));
  CHECK(seldom.due(start + 1s));
}

TEST_CASE("while something is left to look at it goes on every second") {
  const auto seldom = looked_at_start(false);
  CHECK_FALSE(seldom.due(start + 999ms));
  CHECK(seldom.due(start + 1s));
}

TEST_CASE("a dear look is followed by its pause, prompted or not") {
  const auto seldom = looked_at_start(false, 5s);
  CHECK_FALSE(seldom.due(start + 4s));
  CHECK(seldom.due(start + 5s));
}

#include "core/backoff.hpp"

#include <doctest/doctest.h>

using namespace seriatim;
using core::backoff;
using std::chrono::milliseconds;

TEST_SUITE("backoff") {
  const BackoffConfig config{milliseconds{100}, milliseconds{10'000}, milliseconds{3'000}};
  constexpr double all = 0.999999;

  TEST_CASE("the wait may be anywhere up to a ceiling that doubles with every failure") {
    CHECK(backoff(config, 1, all) == milliseconds{99});
    CHECK(backoff(config, 2, all) == milliseconds{199});
    CHECK(backoff(config, 5, all) == milliseconds{1'599});
    CHECK(backoff(config, 5, 0.5) == milliseconds{800});
  }

  TEST_CASE("the ceiling stops growing at max, however many failures there were") {
    CHECK(backoff(config, 8, all) == milliseconds{9'999});
    CHECK(backoff(config, 4'000'000'000U, all) == milliseconds{9'999});
  }

  TEST_CASE("it never spins: even the luckiest draw waits a millisecond") {
    CHECK(backoff(config, 1, 0.0) == milliseconds{1});
  }

  TEST_CASE("Retry-After is a lower bound, and is itself cut") {
    CHECK(backoff(config, 1, 0.0, milliseconds{2'000}) == milliseconds{2'000});
    CHECK(backoff(config, 8, all, milliseconds{2'000}) == milliseconds{9'999});
    CHECK(backoff(config, 1, 0.0, milliseconds{1'000'000'000}) == milliseconds{3'000});
    CHECK(backoff(config, 1, 0.0, milliseconds{-5}) == milliseconds{1});
  }
}

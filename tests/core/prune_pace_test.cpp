#include "core/prune_pace.hpp"

#include <doctest/doctest.h>

using seriatim::core::PrunePace;
using std::chrono::microseconds;

TEST_CASE("a batch that took long is halved, a quick one grows to what was asked for") {
  PrunePace pace(1'000);
  const auto first = pace.rows();
  CHECK(first <= 100);
  pace.took(microseconds{60'000});
  CHECK(pace.rows() == first / 2);
  for (int i = 0; i < 100; ++i) pace.took(microseconds{1'000});
  CHECK(pace.rows() == 1'000);
  for (int i = 0; i < 100; ++i) pace.took(microseconds{100'000});
  CHECK(pace.rows() == PrunePace::rows_min);
  CHECK(PrunePace(3).rows() == 3);
}

TEST_CASE("batches take a fifth of the time at most") {
  PrunePace pace(100);
  for (const auto time : {microseconds{3'000}, microseconds{20'000}, microseconds{200'000}}) {
    CHECK(pace.took(time) >= 4 * time);
  }
  CHECK(pace.took(microseconds{1}) == PrunePace::pause_min);
  CHECK(pace.took(microseconds{60'000'000}) == PrunePace::pause_max);
}

TEST_CASE("locks of others make the pause longer, until a batch gets through") {
  PrunePace pace(100);
  const auto first = pace.refused();
  CHECK(pace.refused() == 2 * first);
  for (int i = 0; i < 20; ++i) CHECK(pace.refused() <= PrunePace::pause_max);
  CHECK(pace.refusals() == 22);
  pace.took(microseconds{1'000});
  CHECK(pace.refusals() == 0);
  CHECK(pace.refused() == first);
}

#include "core/prune_pace.hpp"

#include <doctest/doctest.h>

using seriatim::core::PrunePace;
using std::chrono::microseconds;

namespace {

/// Batches that take `fixed` and so much a row; rows of the last one.
unsigned rows_after(PrunePace& pace, int batches, microseconds fixed, microseconds a_row) {
  for (int i = 0; i < batches; ++i) pace.took(fixed + a_row * pace.rows());
  return pace.rows();
}

}  // namespace

TEST_CASE("a batch that took long is halved, a quick one grows to what was asked for") {
  PrunePace pace(1'000);
  const auto first = pace.rows();
  CHECK(first <= 100);
  pace.took(microseconds{60'000});
  CHECK(pace.rows() == first / 2);
  for (int i = 0; i < 100; ++i) pace.took(microseconds{1'000});
  CHECK(pace.rows() == 1'000);
  CHECK(rows_after(pace, 100, microseconds{0}, microseconds{100'000}) == PrunePace::rows_min);
  CHECK(PrunePace(3).rows() == 3);
}

TEST_CASE("a batch is as long as was aimed at, whatever a row takes") {
  for (const int a_row : {25, 100, 400}) {
    CAPTURE(a_row);
    PrunePace pace(1'000);
    const auto rows =
        static_cast<int>(rows_after(pace, 100, microseconds{2'000}, microseconds{a_row}));
    CHECK(2'000 + a_row * rows <= 20'000);
    CHECK(2'000 + a_row * rows > 10'000);
  }
}

TEST_CASE("where half the rows take as long, there are not fewer and fewer of them") {
  for (const int fixed : {25'000, 60'000, 120'000}) {
    CAPTURE(fixed);
    PrunePace pace(1'000);
    for (int i = 0; i < 300; ++i) {
      const auto time = microseconds{fixed} + microseconds{20} * pace.rows();
      CHECK(pace.rows() >= 50);
      CHECK(time <= 2 * microseconds{fixed});
      pace.took(time);
    }
    CHECK(pace.rows() > 100);
  }
}

TEST_CASE("batches that were long for something else are short again when that is over") {
  PrunePace pace(1'000);
  rows_after(pace, 20, microseconds{60'000}, microseconds{100});
  const auto rows = rows_after(pace, 100, microseconds{1'000}, microseconds{100});
  CHECK(microseconds{1'000} + microseconds{100} * rows <= PrunePace::batch_target);
}

TEST_CASE("a batch is never aimed at longer than aim_max") {
  PrunePace pace(1'000);
  CHECK(rows_after(pace, 100, microseconds{300'000}, microseconds{100}) <= 100);
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

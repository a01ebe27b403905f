// A test program for skip_test, which runs it: a case of each kind, and a need if it is set.
#include <doctest/doctest.h>

#include <cstdlib>

#include "support/skip.hpp"

using seriatim::testing::Need;

namespace {

const Need need([] {
  const char* why = std::getenv("SKIP_SAMPLE_MISSING");
  return std::string(why == nullptr ? "" : why);
});

}  // namespace

TEST_CASE("one that passes") {
  CHECK(true);
}

TEST_CASE("one that is skipped") {
  SKIP_TEST("no such server here:\nnone at all");
  CHECK(false);  // not reached
}

TEST_CASE("one that fails") {
  CHECK(false);
}

TEST_CASE("one that fails and is skipped") {
  CHECK(false);
  SKIP_TEST("too late");
}

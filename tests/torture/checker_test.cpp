// A checker that never fails proves nothing: every defect it is there for is shown to it.
#include "torture/checker.hpp"

#include <doctest/doctest.h>

using namespace seriatim::testing;

namespace {

Delivery delivery(const char* id, std::uint64_t sequence, std::uint64_t epoch = 1) {
  return {id, sequence, epoch, 1, "body of " + std::string(id)};
}

const std::vector<std::string> abc{"a", "b", "c"};

}  // namespace

TEST_SUITE("the checker") {
  TEST_CASE("accepts what is complete and in order") {
    const auto verdict = judge(abc, {delivery("a", 1), delivery("b", 2), delivery("c", 3)});
    CHECK_MESSAGE(verdict.clean_but_for_repeats(), verdict.text());
    CHECK(verdict.repeated.empty());
  }

  TEST_CASE("sees a lost row") {
    CHECK(judge(abc, {delivery("a", 1), delivery("c", 2)}).lost == std::vector<std::string>{"b"});
  }

  TEST_CASE("sees rows that overtook each other") {
    const auto verdict = judge(abc, {delivery("b", 1), delivery("a", 2), delivery("c", 3)});
    CHECK(verdict.reordered == std::vector<std::string>{"a"});
  }

  TEST_CASE("counts repeats, and sees that a repeat is not the same") {
    auto changed = delivery("a", 1);
    changed.body = "else";
    const auto verdict = judge(
        abc, {delivery("a", 1), delivery("a", 1), changed, delivery("b", 2), delivery("c", 3)});
    CHECK(verdict.repeated.size() == 2);
    CHECK(verdict.inconsistent.size() == 1);
  }

  TEST_CASE("sees holes in the sequence, rows never committed, and stale epochs") {
    CHECK(judge(abc, {delivery("a", 1), delivery("b", 3)}).sequence_holes.size() == 1);
    CHECK(judge(abc, {delivery("x", 1)}).invented.size() == 1);
    CHECK(judge(abc, {delivery("a", 1, 2), delivery("b", 2, 1)}).stale_epochs.size() == 1);
  }
}

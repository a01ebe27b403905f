#include "core/fence.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace seriatim;
using namespace seriatim::core;

namespace {

Holder writer(const char* transaction) {
  return {transaction, false};
}
Holder prepared(const char* transaction) {
  return {transaction, true};
}

struct Polls {
  Fence fence;
  OrderKey operator()(OrderKey f, std::vector<Holder> holders) { return fence.settle(f, holders); }
};

}  // namespace

TEST_SUITE("fence") {
  TEST_CASE("without writers everything below F is settled") {
    Polls poll{Fence(100)};
    CHECK(poll(200, {}) == 200);
    CHECK(poll(300, {}) == 300);
  }

  TEST_CASE("a writer found by the first poll may have drawn anything after the cursor") {
    Polls poll{Fence(100)};
    CHECK(poll(200, {writer("3/1")}) == 100);
    CHECK(poll(300, {writer("3/1")}) == 100);
    CHECK(poll(400, {}) == 400);
  }

  TEST_CASE("a writer that came later is bounded by the poll before it was first seen") {
    Polls poll{Fence(100)};
    poll(200, {});
    CHECK(poll(300, {writer("3/1")}) == 200);
    CHECK(poll(400, {writer("3/1")}) == 200);
  }

  TEST_CASE("newcomers never extend a wait") {
    Polls poll{Fence(100)};
    poll(200, {});
    poll(300, {writer("3/1")});
    CHECK(poll(400, {writer("3/1"), writer("4/1")}) == 200);
    CHECK(poll(500, {writer("4/1"), writer("5/1")}) == 300);
    CHECK(poll(600, {writer("5/1")}) == 400);
  }

  TEST_CASE("the same backend's next transaction is another writer") {
    Polls poll{Fence(100)};
    poll(200, {});
    poll(300, {writer("3/1")});
    CHECK(poll(400, {writer("3/2")}) == 300);
  }

  TEST_CASE("a prepared transaction keeps the bound of the one that vanished") {
    Polls poll{Fence(100)};
    poll(200, {});
    poll(300, {writer("3/1")});
    CHECK(poll(400, {prepared("-1/777")}) == 200);
    CHECK(poll(500, {prepared("-1/777")}) == 200);
    CHECK(poll(600, {}) == 600);
  }

  TEST_CASE("one seen under both names at once inherits when the old name goes") {
    Polls poll{Fence(100)};
    poll(200, {});
    poll(300, {writer("3/1")});
    poll(400, {});
    poll(500, {writer("3/9")});
    // PREPARE of 3/9 in the middle of reading pg_locks: bound 400 belongs to both names.
    CHECK(poll(600, {writer("3/9"), prepared("-1/777")}) == 400);
    CHECK(poll(700, {prepared("-1/777")}) == 400);
  }

  TEST_CASE("a prepared transaction known for longer does not inherit from strangers") {
    Polls poll{Fence(100)};
    poll(200, {});
    poll(300, {});
    poll(400, {prepared("-1/777")});
    poll(500, {prepared("-1/777")});
    CHECK(poll(600, {prepared("-1/777"), writer("4/1")}) == 300);
    CHECK(poll(700, {prepared("-1/777")}) == 300);
  }

  TEST_CASE("each holder is known by its own bound, and one that vanished by none") {
    Fence fence(100);
    const std::vector<Holder> first{writer("3/1")};
    const std::vector<Holder> both{writer("3/1"), writer("4/1")};
    fence.settle(200, first);
    fence.settle(300, both);
    CHECK(fence.bound_of("3/1") == 100);
    CHECK(fence.bound_of("4/1") == 200);
    CHECK(fence.bound_of("9/9") == order_key_max);
    fence.settle(400, std::vector<Holder>{writer("4/1")});
    CHECK(fence.bound_of("3/1") == order_key_max);
  }

  TEST_CASE("a row exactly at the mark is not settled: an earlier sibling may share it") {
    CHECK(is_settled(199, 200));
    CHECK_FALSE(is_settled(200, 200));
  }

  TEST_CASE("rows of one created_at follow each other by id") {
    const Position cursor{100, "9"};
    CHECK(comes_after({100, "10"}, cursor, OrderBy::created_at));
    CHECK_FALSE(comes_after({100, "9"}, cursor, OrderBy::created_at));
    CHECK_FALSE(comes_after({99, "11"}, cursor, OrderBy::created_at));
    CHECK(comes_after({99, "11"}, cursor, OrderBy::id));
  }
}

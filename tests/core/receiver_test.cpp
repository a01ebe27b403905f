// What a receiver does about each delivery, written as what its sender went through.
#include "seriatim/receiver.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace seriatim;

namespace {

/// A receiver of one lane that takes what it accepts.
struct Taker {
  explicit Taker(std::size_t ids_kept = 100) : receiver(ids_kept) {}
  Judgement comes(std::uint64_t epoch, std::uint64_t sequence, const std::string& id) {
    const Delivery delivery{"p", 0, epoch, sequence, id};
    auto judgement = receiver.judge(delivery);
    if (judgement.verdict == Verdict::accept) receiver.taken(delivery);
    return judgement;
  }
  Verdict of(std::uint64_t epoch, std::uint64_t sequence, const std::string& id) {
    return comes(epoch, sequence, id).verdict;
  }
  Receiver receiver;
};

}  // namespace

TEST_SUITE("receiver") {
  TEST_CASE("records are taken one after another, and once") {
    Taker taker;
    CHECK(taker.of(1, 1, "a") == Verdict::accept);
    CHECK(taker.of(1, 2, "b") == Verdict::accept);
    CHECK(taker.of(1, 2, "b") == Verdict::repeat);
    CHECK(taker.of(1, 1, "a") == Verdict::repeat);
    CHECK(taker.of(1, 3, "c") == Verdict::accept);
  }

  TEST_CASE("lanes and processes are kept apart") {
    Receiver receiver;
    receiver.taken({"p", 0, 1, 1, "a"});
    CHECK(receiver.judge({"p", 1, 1, 1, "b"}).verdict == Verdict::accept);
    CHECK(receiver.judge({"q", 0, 1, 1, "a"}).verdict == Verdict::accept);
    CHECK(receiver.judge({"p", 0, 1, 1, "a"}).verdict == Verdict::repeat);
  }

  TEST_CASE("numbers the sender says it set aside are no gap") {
    Receiver receiver(4);
    const auto take = [&](std::uint64_t sequence, const std::string& id, std::uint64_t set_aside) {
      const Delivery delivery{"p", 0, 1, sequence, id, set_aside};
      const auto verdict = receiver.judge(delivery).verdict;
      if (verdict == Verdict::accept) receiver.taken(delivery);
      return verdict;
    };
    CHECK(take(1, "a", 0) == Verdict::accept);
    CHECK(take(3, "c", 0) == Verdict::gap);
    CHECK(take(3, "c", 1) == Verdict::accept);  // 2 was set aside
    CHECK(take(3, "c", 1) == Verdict::repeat);
    CHECK(take(5, "e", 1) == Verdict::gap);  // said before: not for 4
    CHECK(take(8, "h", 4) == Verdict::gap);  // 4, 5, 6 set aside: 7 is missing
    CHECK(take(7, "g", 4) == Verdict::accept);
    CHECK(take(7, "x", 4) == Verdict::conflict);
    const auto kept = lane_from(to_text(receiver.lane("p", 0)));
    REQUIRE(kept);
    CHECK(*kept == receiver.lane("p", 0));
    CHECK(kept->set_aside == 4);
    CHECK(kept->ids == std::vector<std::string>{"", "", "", "g"});
  }

  TEST_CASE("a row that was taken and then set aside by its sender is no gap either") {
    Receiver receiver;
    receiver.taken({"p", 0, 1, 1, "a"});  // its answer was lost, and the sender gave it up
    CHECK(receiver.judge({"p", 0, 1, 2, "b", 1}).verdict == Verdict::accept);
    receiver.taken({"p", 0, 1, 2, "b", 1});
    CHECK(receiver.judge({"p", 0, 1, 3, "c", 1}).verdict == Verdict::accept);
  }

  TEST_CASE("after a take-over the numbers go on, and the old holder is refused") {
    Taker taker;
    CHECK(taker.of(7, 1, "a") == Verdict::accept);
    CHECK(taker.of(8, 1, "a") == Verdict::repeat);  // its answer was lost with the holder
    CHECK(taker.of(8, 2, "b") == Verdict::accept);
    const auto late = taker.comes(7, 3, "c");  // the old one thaws
    CHECK(late.verdict == Verdict::stale);
    CHECK(late.reason == "epoch 7 was replaced by epoch 8: this sender no longer holds the lane");
    CHECK(taker.of(7, 1, "a") == Verdict::stale);
    CHECK(taker.of(8, 3, "c") == Verdict::accept);
  }

  TEST_CASE("an epoch counts as seen though the effect failed") {
    Receiver receiver;
    const Delivery first{"p", 0, 8, 1, "a"};
    REQUIRE(receiver.judge(first).verdict == Verdict::accept);  // … and then its disk was full
    CHECK(receiver.judge({"p", 0, 7, 1, "a"}).verdict == Verdict::stale);
    CHECK(receiver.judge(first).verdict == Verdict::accept);
  }

  TEST_CASE("a gap is refused and says what is missing, until it is said to be set aside") {
    Taker taker;
    taker.of(1, 1, "a");
    const auto one = taker.comes(2, 3, "c");
    CHECK(one.verdict == Verdict::gap);
    CHECK(
        one.reason ==
        "record 2 never came before record 3; if set aside or not wanted, say so to this receiver");
    CHECK(taker.comes(2, 9, "i").reason.find("records 2 to 8 never came") == 0);
    CHECK_FALSE(taker.receiver.set_aside("p", 0, 3, "c"));
    CHECK(taker.receiver.set_aside("p", 0, 2, "b"));
    CHECK(taker.of(2, 3, "c") == Verdict::accept);
  }

  TEST_CASE("a receiver that begins late learns where, and takes the next") {
    Taker taker;
    CHECK(taker.of(5, 17, "q") == Verdict::gap);
    taker.receiver.restore("p", 0, {.epoch = 5, .sequence = 16, .ids = {}});
    CHECK(taker.of(5, 17, "q") == Verdict::accept);
    CHECK(taker.of(5, 16, "?") == Verdict::repeat);
  }

  TEST_CASE("another row under a number already taken is no repeat") {
    // Rows 11 and 12 were taken and their commit was lost; 12 was deleted, so 13 bears its number.
    Taker taker;
    taker.of(1, 1, "11");
    taker.of(1, 2, "12");
    CHECK(taker.of(2, 1, "11") == Verdict::repeat);
    const auto conflict = taker.comes(2, 2, "13");
    CHECK(conflict.verdict == Verdict::conflict);
    CHECK(conflict.reason == "record 2 was row 12 when it was taken and is row 13 now");
  }

  TEST_CASE("a row already taken under another number is a repeat") {
    Taker taker;
    for (std::uint64_t n = 1; n <= 3; ++n) taker.of(1, n, std::to_string(10 + n));
    CHECK(taker.of(2, 1, "11") == Verdict::repeat);
    CHECK(taker.of(2, 2, "13") == Verdict::repeat);  // 12 was deleted
    CHECK(taker.of(2, 3, "14") == Verdict::conflict);
  }

  TEST_CASE("only the next record can be taken") {
    Taker taker;
    taker.of(1, 1, "a");
    CHECK_THROWS_AS(taker.receiver.taken({"p", 0, 1, 1, "a"}), std::logic_error);
    CHECK_THROWS_AS(taker.receiver.taken({"p", 0, 1, 3, "c"}), std::logic_error);
  }

  TEST_CASE("a rewind repeats all it passes, beyond the ids that are kept too") {
    Taker taker(2);
    for (std::uint64_t n = 1; n <= 5; ++n) taker.of(1, n, std::to_string(n));
    CHECK(taker.receiver.lane("p", 0).ids == std::vector<std::string>{"4", "5"});
    for (std::uint64_t n = 1; n <= 5; ++n)
      CHECK(taker.of(2, n, std::to_string(n)) == Verdict::repeat);
    CHECK(taker.of(2, 6, "6") == Verdict::accept);
  }

  TEST_CASE("what is kept comes back from its text, whatever the ids hold") {
    const ReceivedLane lane{7, 42, {"a b", "", "4:x ", "ü\n"}};
    CHECK(lane_from(to_text(lane)) == lane);
    CHECK(lane_from(to_text({})) == ReceivedLane{});
    for (const char* broken : {"", "7", "7 42", "x 1 ", "-1 2 ", "1 1 2:a ", "1 1 1:a", "1 1 9:a ",
                               "1 1 1a ", "1 0 1:a ", "1 99999999999999999999 "}) {
      CAPTURE(broken);
      CHECK_FALSE(lane_from(broken).has_value());
    }
  }

  TEST_CASE("order by key: a higher number is new, and a row is taken once under any number") {
    ReceivedKey kept;
    const auto comes = [&](std::uint64_t epoch, std::uint64_t sequence, const std::string& id) {
      const Delivery delivery{"p", 0, epoch, sequence, id};
      const auto verdict = judge_by_key(delivery, kept).verdict;
      if (verdict == Verdict::accept) kept = taken_of_key(delivery);
      return verdict;
    };
    CHECK(comes(1, 3, "a") == Verdict::accept);
    CHECK(comes(1, 3, "a") == Verdict::repeat);
    CHECK(comes(1, 9, "b") == Verdict::accept);  // numbers between are of other keys
    CHECK(comes(1, 3, "a") == Verdict::repeat);
    CHECK(comes(2, 9, "b") == Verdict::repeat);
    CHECK(comes(2, 14, "b") == Verdict::repeat);  // held meanwhile: another number
    CHECK(comes(2, 9, "c") == Verdict::conflict);
    CHECK(comes(2, 15, "c") == Verdict::accept);
    CHECK(comes(1, 16, "d") == Verdict::stale);
    CHECK(kept == ReceivedKey{2, 15, "c"});
  }
}

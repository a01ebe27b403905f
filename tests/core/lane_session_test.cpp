// What a session tells its reader and its store of a lane.
#include "runtime/lane_session.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "runtime/memory_store.hpp"

using namespace seriatim;

namespace {

class Listening final : public Reader {
 public:
  explicit Listening(std::vector<bool>& anew) : anew_(anew) {}

  [[nodiscard]] Abilities abilities() const override { return {}; }
  [[nodiscard]] bool comes_after(const Position&, const Position&) const override { return false; }
  PollResult poll(const Wanted&) override { return round; }
  PollResult reread(const std::vector<std::string>&, const std::optional<Position>&,
                    unsigned) override {
    return {};
  }
  void claimed(std::uint64_t, bool anew) override { anew_.push_back(anew); }
  bool wait_until(Time) override { return false; }
  [[nodiscard]] bool hints() const override { return false; }

  PollResult round;

 private:
  std::vector<bool>& anew_;
};

struct OneLane final : Source {
  Lane open(const LaneId& lane, const ProcessConfig&, const std::string& holder,
            Waker& waker) override {
    auto reader = std::make_unique<Listening>(anew);
    reader->round = round;
    return {testing::MemoryCursors::open(cursors, lane, holder, waker), std::move(reader)};
  }
  std::shared_ptr<testing::MemoryCursors> cursors = std::make_shared<testing::MemoryCursors>();
  std::vector<bool> anew;
  PollResult round;  ///< of every poll
};

Record planned_row(const std::string& id) {
  Record record;
  record.position = {std::stoll(id), id};
  return record;
}

}  // namespace

TEST_SUITE("lane session") {
  TEST_CASE("a reader hears of each claim whether the epoch is another") {
    OneLane source;
    Waker waker;
    runtime::LaneSession session(source, {"p", 0, 1}, {}, "us", waker);
    REQUIRE(session.claim().granted);
    REQUIRE(session.claim().granted);  // renewed
    source.cursors->redrive("p");      // an operator's act raises the epoch
    REQUIRE(session.claim().granted);
    CHECK(source.anew == std::vector<bool>{true, false, true});
  }

  TEST_CASE("a batch that is started again is without the rows that were delivered") {
    OneLane source;
    source.round.records = {planned_row("1"), planned_row("2")};
    source.round.planned = true;
    Waker waker;
    runtime::LaneSession session(source, {"p", 0, 1}, {}, "us", waker);
    const auto epoch = session.claim().cursor.epoch;
    session.poll(std::nullopt, 2);
    REQUIRE(session.start(epoch, 1) == Grant::ours);
    REQUIRE(session.settle(epoch, {.done = {source.round.records[0].position}}).grant ==
            Grant::ours);
    // Its second call was not begun in time.
    REQUIRE(session.start(epoch, 1) == Grant::ours);
    CHECK(source.cursors->parked("p") == std::vector<std::string>{"2"});
  }
}

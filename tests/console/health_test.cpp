// When a probe is answered 503, and when it must not be.
#include "console/health.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "seriatim/relay.hpp"
#include "seriatim/testing/memory_source.hpp"

using namespace seriatim;
using namespace seriatim::console;
using namespace std::chrono_literals;

namespace {

const auto now = std::chrono::steady_clock::now();

LaneCounts lane_in(LaneStep step, std::chrono::seconds late) {
  LaneCounts lane;
  lane.process = "p";
  lane.step = step;
  lane.step_ends = now - late;
  lane.answered = now;
  lane.silence_max = 15s;
  return lane;
}

bool alive(const LaneCounts& lane) {
  return liveness(std::span(&lane, 1), now).good;
}

/// Does not return before it is let go, whatever its deadline says.
class Deaf final : public Handler {
 public:
  Deaf(std::latch& called, std::latch& let_go) : called_(called), let_go_(let_go) {}
  BatchOutcome handle(std::span<const Record> records, const CallContext&) override {
    called_.count_down();
    let_go_.wait();
    return {records.size(), std::nullopt};
  }

 private:
  std::latch& called_;
  std::latch& let_go_;
};

}  // namespace

TEST_SUITE("health") {
  TEST_CASE("a thread lives until it is a minute beyond the end it stated, whatever it does") {
    for (const auto step : {LaneStep::session, LaneStep::fetch, LaneStep::fence, LaneStep::call,
                            LaneStep::commit, LaneStep::backoff, LaneStep::idle}) {
      CHECK(alive(lane_in(step, -10s)));
      CHECK(alive(lane_in(step, 60s)));
      CHECK_FALSE(alive(lane_in(step, 61s)));
    }
    CHECK(alive(LaneCounts{}));  // not begun
  }

  TEST_CASE("a hung lane is named, with what it does") {
    const std::vector<LaneCounts> lanes{lane_in(LaneStep::idle, 0s), lane_in(LaneStep::call, 75s)};
    CHECK(liveness(lanes, now).text == "lane p/0 hangs: a call of its handler was to end 75 s ago");
  }

  TEST_CASE("a handler that ignores its deadline fails liveness a minute after it, not before") {
    std::latch called(1);
    std::latch let_go(1);
    auto source = std::make_shared<testing::MemorySource>();
    source->append({.payload = "x"});
    Relay relay;
    ProcessConfig process;
    process.name = "p";
    process.handler_deadline = 1s;
    relay.add(process, source, [&](unsigned) { return std::make_unique<Deaf>(called, let_go); });
    std::jthread running([&](const std::stop_token& stop) { relay.run(stop); });
    called.wait();
    const auto counts = relay.counts();
    REQUIRE(counts.size() == 1);
    CHECK(counts[0].step == LaneStep::call);
    const auto seen = std::chrono::steady_clock::now();
    CHECK(liveness(counts, seen + 60s).good);
    CHECK_FALSE(liveness(counts, seen + 62s).good);
    CHECK(readiness(counts, seen + 62s).good);  // a call need not ask the database
    let_go.count_down();
  }

  TEST_CASE("a lane is ready while its source answers, and not before it did") {
    auto lane = lane_in(LaneStep::idle, 0s);
    const auto ready = [&](auto at) { return readiness(std::span(&lane, 1), at); };
    CHECK(ready(now + 15s).good);
    CHECK(ready(now + 16s).text == "lane p/0: the database has not answered for 16 s");
    lane.finished = true;
    CHECK(ready(now + 16s).good);  // drained
    lane.finished = false;
    lane.answered = {};
    CHECK(ready(now).text == "lane p/0: the database has not answered yet");
    CHECK(alive(lane));  // a lost database is no reason to restart
  }
}

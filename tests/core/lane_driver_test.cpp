// What observers are notified of, and when.
#include "runtime/lane_driver.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "seriatim/testing/memory_source.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

/// A source whose lane is fenced by one transaction that grows older with every poll.
class Fenced final : public Source {
 public:
  explicit Fenced(std::vector<milliseconds> ages) : ages_(std::move(ages)) {}

  Lane open(const LaneId& lane, const ProcessConfig& config, const std::string& holder,
            Waker& waker) override {
    auto inner = memory_.open(lane, config, holder, waker);
    return {std::move(inner.store), std::make_unique<FencedReader>(std::move(inner.reader), *this)};
  }
  /// One poll more than there are ages: the last one was reported.
  [[nodiscard]] bool done() const { return polls_ > ages_.size(); }

 private:
  class FencedReader final : public Reader {
   public:
    FencedReader(std::unique_ptr<Reader> inner, Fenced& owner)
        : inner_(std::move(inner)), owner_(owner) {}
    [[nodiscard]] Abilities abilities() const override { return inner_->abilities(); }
    [[nodiscard]] bool comes_after(const Position& row, const Position& other) const override {
      return inner_->comes_after(row, other);
    }
    PollResult poll(const Wanted&) override {
      PollResult round;
      round.fenced = true;
      const auto poll = std::min<std::size_t>(owner_.polls_++, owner_.ages_.size() - 1);
      round.blockers.push_back({.pid = 4711, .age = owner_.ages_[poll]});
      return round;
    }
    PollResult reread(const std::vector<std::string>&, const std::optional<Position>&,
                      unsigned) override {
      return {};
    }
    bool wait_until(Time deadline) override { return inner_->wait_until(deadline); }
    [[nodiscard]] bool hints() const override { return false; }

   private:
    std::unique_ptr<Reader> inner_;
    Fenced& owner_;
  };

  std::vector<milliseconds> ages_;
  std::atomic<std::size_t> polls_ = 0;
  testing::MemorySource memory_;
};

struct Recorded final : Observer {
  void lane_changed(const LaneStatus& status) override {
    if (status.state == LaneState::fenced) ages.push_back(status.blockers.at(0).age);
  }
  std::vector<milliseconds> ages;
};

}  // namespace

TEST_SUITE("lane driver") {
  TEST_CASE("a long wait at the fence is reported again as it becomes another kind of wait") {
    const auto source = std::make_shared<Fenced>(
        std::vector<milliseconds>{20ms, 400ms, 1200ms, 5s, 12s, 80s, 200s});
    const auto seen = std::make_shared<Recorded>();
    ProcessConfig config;
    config.name = "p";
    config.poll_interval_max = 1ms;
    runtime::LaneDriver driver({config, 0, nullptr, "us", source, nullptr, seen});
    std::jthread lane([&](const std::stop_token& stop) { driver.run(stop); });
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!source->done() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    lane.request_stop();
    driver.wake();
    lane.join();
    CHECK(seen->ages == std::vector<milliseconds>{20ms, 1200ms, 12s, 200s});
  }
}

// What observers are told, and when.
#include "runtime/lane_driver.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "seriatim/testing/memory_source.hpp"

using namespace seriatim;
using namespace std::chrono_literals;

namespace {

/// A source whose lane is fenced by one transaction that grows older with every poll.
class Fenced final : public Source {
 public:
  explicit Fenced(std::vector<milliseconds> ages) : ages_(std::move(ages)) {}

  std::unique_ptr<LaneSession> open(const LaneId& lane, const ProcessConfig& config,
                                    const std::string& holder, Waker& waker) override {
    return std::make_unique<Session>(memory_.open(lane, config, holder, waker), *this);
  }
  /// One poll more than there are ages: the last one was told.
  [[nodiscard]] bool done() const { return polls_ > ages_.size(); }

 private:
  class Session final : public LaneSession {
   public:
    Session(std::unique_ptr<LaneSession> inner, Fenced& owner)
        : inner_(std::move(inner)), owner_(owner) {}
    Round poll(const std::optional<Position>&, unsigned, bool) override {
      Round round;
      round.fenced = true;
      const auto poll = std::min<std::size_t>(owner_.polls_++, owner_.ages_.size() - 1);
      round.blockers.push_back({.pid = 4711, .age = owner_.ages_[poll]});
      return round;
    }
    Claim claim() override { return inner_->claim(); }
    Grant start(std::uint64_t, std::size_t, bool) override { return Grant::lost; }
    Grant settle(std::uint64_t, const Settlement&) override { return Grant::lost; }
    void release(std::uint64_t epoch, bool untouched) override {
      inner_->release(epoch, untouched);
    }
    Cursor look() override { return inner_->look(); }
    bool wait_until(std::chrono::steady_clock::time_point deadline) override {
      return inner_->wait_until(deadline);
    }
    [[nodiscard]] bool hints() const override { return false; }

   private:
    std::unique_ptr<LaneSession> inner_;
    Fenced& owner_;
  };

  std::vector<milliseconds> ages_;
  std::atomic<std::size_t> polls_ = 0;
  testing::MemorySource memory_;
};

struct Told final : Observer {
  void lane_changed(const LaneStatus& status) override {
    if (status.state == LaneState::fenced) ages.push_back(status.blockers.at(0).age);
  }
  std::vector<milliseconds> ages;
};

}  // namespace

TEST_SUITE("lane driver") {
  TEST_CASE("a long wait at the fence is told again as it becomes another kind of wait") {
    const auto source = std::make_shared<Fenced>(
        std::vector<milliseconds>{20ms, 400ms, 1200ms, 5s, 12s, 80s, 200s});
    const auto told = std::make_shared<Told>();
    ProcessConfig config;
    config.name = "p";
    config.poll_interval_max = 1ms;
    runtime::LaneDriver driver({config, 0, nullptr, "us", source, nullptr, told});
    std::jthread lane([&](const std::stop_token& stop) { driver.run(stop); });
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!source->done() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    lane.request_stop();
    driver.wake();
    lane.join();
    CHECK(told->ages == std::vector<milliseconds>{20ms, 1200ms, 12s, 200s});
  }
}

#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/lane.hpp"

namespace seriatim::core::testing {

/// A lane, a clock we move by hand, and the last action it answered with.
class Story {
 public:
  explicit Story(const ProcessConfig& config = quick(), Lane::Options options = {})
      : lane_(config, 0, options) {}

  static ProcessConfig quick() {
    ProcessConfig config;
    config.name = "p";
    return config;
  }

  void feed(Event event) { action_ = lane_.on(std::move(event), {now_, 0.5, stopping_, wanted_}); }
  template <class A>
  const A& expect() const {
    REQUIRE_MESSAGE(std::holds_alternative<A>(action_), "action #", action_.index());
    return std::get<A>(action_);
  }
  /// What becomes of the row after those that the lane settles.
  template <class F>
  const F& settled() const {
    const auto& fate = expect<Settle>().settlement.fate;
    REQUIRE_MESSAGE(std::holds_alternative<F>(fate), "fate #", fate.index());
    return std::get<F>(fate);
  }
  void pass(std::chrono::milliseconds time) { now_ += time; }
  void ask_to_stop() { stopping_ = true; }
  void want(bool wanted) { wanted_ = wanted; }
  std::chrono::milliseconds wait() const {
    return std::chrono::ceil<std::chrono::milliseconds>(expect<WaitUntil>().deadline - now_);
  }
  const Action& action() const { return action_; }
  LaneStatus status() const { return lane_.status(); }
  Time now() const { return now_; }

  void claimed(Cursor cursor) {
    feed(Begin{});
    expect<OpenSession>();
    feed(Opened{});
    expect<ClaimLane>();
    if (cursor.epoch == 0) cursor.epoch = 1;
    feed(Claimed{{true, cursor, "us"}});
  }
  /// The wait is over, and the lane reads this in its row; opened anew, it has the next epoch.
  void claimed_again(Cursor cursor) {
    pass(wait());
    feed(Woken{});
    const bool anew = std::holds_alternative<OpenSession>(action_);
    if (anew) {
      feed(Opened{});
      cursor.epoch += 1;
    }
    expect<ClaimLane>();
    feed(Claimed{{true, std::move(cursor), "us", false, {}, anew}});
  }
  /// Claimed, polled and started: the first call of `rows` is the action in flight.
  void calling(const std::vector<std::string>& rows, Cursor cursor = {}) {
    claimed(std::move(cursor));
    expect<PollSource>();
    feed(Polled{round(rows)});
    expect<StartBatch>();
    feed(Started{});
    expect<CallHandler>();
  }

  static PollResult round(const std::vector<std::string>& ids) {
    PollResult round;
    for (const auto& id : ids) {
      Record record;
      record.position = {1'000, id};
      round.records.push_back(record);
    }
    return round;
  }

 private:
  Lane lane_;
  Action action_ = Finish{};
  Time now_{std::chrono::hours(1)};
  bool stopping_ = false;
  bool wanted_ = true;
};

inline Called done(std::size_t rows) {
  return {{rows, std::nullopt}};
}
inline Called failed(Outcome outcome, std::size_t rows = 0) {
  return {{rows, std::move(outcome)}};
}

}  // namespace seriatim::core::testing

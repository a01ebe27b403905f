#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "seriatim/counts.hpp"
#include "seriatim/outcome.hpp"
#include "seriatim/store.hpp"

namespace seriatim::runtime {

/// A number that one thread counts and others read. Plain loads and stores: an atomic addition
/// would cost a locked instruction for each row.
template <class T>
class Counter {
 public:
  void add(T more) { set(get() + more); }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] T get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{};
};

/// Buckets that one thread fills and others read.
template <std::size_t N>
class Buckets {
 public:
  explicit constexpr Buckets(const std::array<double, N>& bounds) : bounds_(bounds) {}

  void add(double seconds) {
    std::size_t i = 0;
    while (i < N && seconds > bounds_[i]) ++i;
    counts_[i].add(1);
    sum_.add(seconds);
  }
  [[nodiscard]] Histogram read() const {
    Histogram histogram{bounds_, {}, sum_.get()};
    for (const auto& count : counts_) histogram.counts.push_back(count.get());
    return histogram;
  }

 private:
  const std::array<double, N>& bounds_;
  std::array<Counter<std::uint64_t>, N + 1> counts_;
  Counter<double> sum_;
};

inline constexpr std::array call_bounds{.0005, .001, .0025, .005, .01, .025, .05, .1,
                                        .25,   .5,   1.,    2.5,  5.,  10.,  30.};
inline constexpr std::array end_to_end_bounds{
    .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1., 2.5, 5., 10., 30., 60., 300., 1800., 7200.};
inline constexpr std::array commit_bounds{.0001, .00025, .0005, .001, .0025, .005, .01,
                                          .025,  .05,    .1,    .25,  .5,    1.};

/// What a lane counts of itself, without a lock and without allocating.
///
/// Threads: the lane's thread counts; any thread reads.
class LaneCounters {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The lane turns to another step. It takes until `ends` at most.
  void begin_step(LaneStep stage, Time now, Time ends);
  void called(Outcome::Kind kind, std::chrono::nanoseconds took);
  /// The source's clock at `now`, in microseconds since 1970.
  void see_clock(std::int64_t source_us, Time now);
  /// A settlement was sent at `sent` and committed at `now`.
  void settled(const Settlement& settlement, Time sent, Time now);
  void answered(Time now) { answered_.set(now.time_since_epoch().count()); }
  void lost_session() { sessions_lost_.add(1); }
  void took_over() { takeovers_.add(1); }
  void hold(bool held) { held_.set(held); }

  [[nodiscard]] LaneCounts read() const;

 private:
  Counter<std::uint64_t> delivered_;
  std::array<Counter<std::uint64_t>, 3> failures_;
  Counter<std::uint64_t> parked_;
  Counter<std::uint64_t> queued_;
  std::array<Counter<double>, lane_step_names.size()> stage_seconds_;
  Counter<std::uint64_t> sessions_lost_;
  Counter<std::uint64_t> takeovers_;
  Counter<bool> held_;
  Buckets<call_bounds.size()> calls_{call_bounds};
  Buckets<end_to_end_bounds.size()> end_to_end_{end_to_end_bounds};
  Buckets<commit_bounds.size()> commits_{commit_bounds};
  Counter<LaneStep> step_;
  Counter<Time::rep> step_ends_;
  Counter<Time::rep> answered_;

  // The lane's thread only.
  Time step_began_{};
  std::optional<std::int64_t> source_ahead_us_;  ///< the source's clock, less the steady one
};

}  // namespace seriatim::runtime

#include "runtime/lane_counters.hpp"

#include <algorithm>

namespace seriatim::runtime {

namespace {

using Seconds = std::chrono::duration<double>;

std::int64_t micros(LaneCounters::Time time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

void LaneCounters::begin_step(LaneStep stage, Time now, Time ends) {
  if (step_began_ != Time{}) {
    stage_seconds_[static_cast<std::size_t>(step_.get())].add(Seconds(now - step_began_).count());
  }
  step_began_ = now;
  step_.set(stage);
  step_ends_.set(ends.time_since_epoch().count());
}

void LaneCounters::called(Outcome::Kind kind, std::chrono::nanoseconds took) {
  calls_.add(Seconds(took).count());
  switch (kind) {
    case Outcome::Kind::done: return;
    case Outcome::Kind::retry_later: return failures_[0].add(1);
    case Outcome::Kind::unknown: return failures_[1].add(1);
    case Outcome::Kind::poison: return failures_[2].add(1);
  }
}

void LaneCounters::see_clock(std::int64_t source_us, Time now) {
  source_ahead_us_ = source_us - micros(now);
}

void LaneCounters::settled(const Settlement& settlement, Time sent, Time now) {
  commits_.add(Seconds(now - sent).count());
  delivered_.add(settlement.done.size() + settlement.done_aside.size() +
                 settlement.done_late.size());
  for (const auto& row : settlement.queued) queued_.add(row.aside ? 0 : 1);
  const auto* park = std::get_if<Park>(&settlement.fate);
  if (park && !park->retry_in) parked_.add(1);
  for (const auto& again : settlement.parks) parked_.add(again.retry_in ? 0 : 1);
  if (!source_ahead_us_) return;
  const auto now_us = micros(now) + *source_ahead_us_;
  const auto delivered = [&](const Position& row) {
    if (row.created_at_us == 0) return;
    end_to_end_.add(1e-6 *
                    static_cast<double>(std::max<std::int64_t>(now_us - row.created_at_us, 0)));
  };
  std::for_each(settlement.done.begin(), settlement.done.end(), delivered);
  std::for_each(settlement.done_aside.begin(), settlement.done_aside.end(), delivered);
  std::for_each(settlement.done_late.begin(), settlement.done_late.end(), delivered);
}

LaneCounts LaneCounters::read() const {
  LaneCounts counts;
  counts.delivered = delivered_.get();
  for (std::size_t i = 0; i < failures_.size(); ++i) counts.failures[i] = failures_[i].get();
  counts.parked = parked_.get();
  counts.queued = queued_.get();
  for (std::size_t i = 0; i < stage_seconds_.size(); ++i) {
    counts.stage_seconds[i] = stage_seconds_[i].get();
  }
  counts.sessions_lost = sessions_lost_.get();
  counts.takeovers = takeovers_.get();
  counts.held = held_.get();
  counts.calls = calls_.read();
  counts.end_to_end = end_to_end_.read();
  counts.commits = commits_.read();
  counts.step = step_.get();
  counts.step_ends = Time(Time::duration(step_ends_.get()));
  counts.answered = Time(Time::duration(answered_.get()));
  return counts;
}

}  // namespace seriatim::runtime

#include "app/records/recorder.hpp"

#include <algorithm>
#include <utility>

#include "app/signals.hpp"
#include "app/text.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

using std::chrono::milliseconds;

constexpr std::int64_t minute_us = 60'000'000;
constexpr milliseconds note_interval{60'000};

std::int64_t minute_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::minutes>(now).count();
}

std::uint64_t micros(double length) {
  return static_cast<std::uint64_t>(std::max(length, 0.0) * 1e6);
}

std::uint64_t count_of(const Histogram& histogram) {
  std::uint64_t count = 0;
  for (const auto one : histogram.counts) count += one;
  return count;
}

/// The bound of the highest bucket that got a value; of the last one the bound below it.
std::uint64_t highest_us(const Histogram& before, const Histogram& now) {
  for (auto i = now.counts.size(); i-- > 0;) {
    const auto had = i < before.counts.size() ? before.counts[i] : 0;
    if (now.counts[i] > had) return micros(now.bounds[std::min(i, now.bounds.size() - 1)]);
  }
  return 0;
}

postgres::LaneMinute minute_of(const LaneCounts& before, const LaneCounts& now) {
  postgres::LaneMinute minute;
  minute.lane = now.lane;
  minute.delivered = now.delivered - before.delivered;
  for (std::size_t i = 0; i < now.failures.size(); ++i) {
    minute.failures += now.failures[i] - before.failures[i];
  }
  minute.calls = count_of(now.calls) - count_of(before.calls);
  minute.call_sum_us = micros(now.calls.sum - before.calls.sum);
  minute.call_max_us = highest_us(before.calls, now.calls);
  minute.age_max_us = highest_us(before.end_to_end, now.end_to_end);
  return minute;
}

}  // namespace

Minutes minutes_between(const std::vector<LaneCounts>& before, const std::vector<LaneCounts>& now) {
  Minutes minutes;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto minute = minute_of(i < before.size() ? before[i] : LaneCounts{}, now[i]);
    if (minute.calls + minute.delivered + minute.failures == 0) continue;
    minutes[now[i].process].push_back(minute);
  }
  return minutes;
}

Recorder::Recorder(Parts parts)
    : parts_(std::move(parts)),
      records_(parts_.url),
      minute_(minute_now()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Recorder::run(const std::stop_token& stop) {
  do {
    attempt([this] {
      records_.relay_runs(parts_.relay);
      if (minute_now() != minute_) note_minute();
    });
    records_.rest();
  } while (sleep_unless_stopped(note_interval, stop));
  if (!complaint_.empty()) return;  // the database is away: it must not hold up the stop
  attempt([this] {
    note_minute();
    records_.relay_ends(parts_.relay.name);
  });
}

/// What cannot be written now counts for the minute in which it can.
void Recorder::note_minute() {
  const auto began = std::exchange(minute_, minute_now()) * minute_us;
  const auto counts = parts_.counts();
  noted_.resize(counts.size());
  for (const auto& [process, lanes] : minutes_between(noted_, counts)) {
    records_.add_minutes(process, began, lanes);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i].process == process) noted_[i] = counts[i];
    }
  }
}

void Recorder::attempt(const std::function<void()>& act) try {
  act();
  complaint_.clear();
} catch (const std::exception& error) {
  if (complaint_ == error.what()) return;
  complaint_ = error.what();
  parts_.log.warn(
      "the history of lanes is not kept: " + printable(parts_.secrets.redact(complaint_)) +
      "; delivery goes on. If a right is missing, run docs/roles.sql");
}

}  // namespace seriatim::app

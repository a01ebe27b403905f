#include "app/verdict.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include "app/stall.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using std::chrono::system_clock;

/// "9 814"
std::string grouped(std::uint64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ' ');
  }
  return text;
}

std::string some(std::uint64_t number, const char* one, const char* many) {
  return grouped(number) + ' ' + (number == 1 ? one : many);
}

/// "02:41 UTC", and the day if it is not clear which.
std::string moment_text(system_clock::time_point moment, std::chrono::milliseconds age) {
  constexpr std::chrono::hours same_day_max{20};
  const auto since_1970 = system_clock::to_time_t(moment);
  std::tm utc{};
  ::gmtime_r(&since_1970, &utc);
  std::array<char, 40> text{};
  const auto* form = age < same_day_max ? "%H:%M UTC" : "%Y-%m-%d %H:%M UTC";
  return {text.data(), std::strftime(text.data(), text.size(), form, &utc)};
}

/// Without seconds once there are minutes: they say nothing more, and change all the time.
std::string age_text_of(std::chrono::milliseconds age) {
  constexpr std::chrono::minutes minute{1};
  return human_duration(age < minute ? age : std::chrono::floor<std::chrono::minutes>(age));
}

}  // namespace

void Verdict::add(const postgres::LaneReport& report) {
  lanes_ += 1;
  still_ += is_stopped(report) ? 1 : 0;
  unread_ += report.unread || !report.not_read.empty() ? 1 : 0;
  waiting_ += report.lag_records.value_or(0);
  more_ = more_ || report.lag_more || !report.lag_records;
  oldest_ = std::max(oldest_, report.lag_age.value_or(std::chrono::milliseconds{0}));
}

Verdict::State Verdict::state() const {
  if (still_ > 0) return State::stalled;
  if (unread_ > 0 || lanes_ == 0) return State::unknown;
  return waiting_ > 0 || more_ ? State::waits : State::well;
}

std::string Verdict::text(system_clock::time_point now) const {
  if (lanes_ == 0) return "No lane is known";
  auto text = still_ > 0 ? grouped(still_) + " of " + some(lanes_, "lane", "lanes") +
                               (still_ == 1 ? " is stopped" : " are stopped")
              : unread_ > 0 ? "What waits in " + grouped(unread_) + " of " +
                                  some(lanes_, "lane", "lanes") + " cannot be read"
                            : std::string("Everything moves");
  if (waiting_ == 0 && !more_) return text + "; no row waits";
  text += "; " + some(waiting_, "row", "rows") + (more_ ? " or more" : "") +
          (waiting_ == 1 && !more_ ? " waits" : " wait");
  if (oldest_.count() == 0) return text;
  return text + ", the oldest since " + moment_text(now - oldest_, oldest_) + " (" +
         age_text_of(oldest_) + ')';
}

const char* to_string(Verdict::State state) {
  switch (state) {
    case Verdict::State::well: return "well";
    case Verdict::State::waits: return "waits";
    case Verdict::State::stalled: return "stalled";
    case Verdict::State::unknown: return "unknown";
  }
  return "?";
}

}  // namespace seriatim::app

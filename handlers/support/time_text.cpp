#include "support/time_text.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace seriatim::handlers {

std::string rfc3339(std::int64_t unix_us) {
  using namespace std::chrono;
  // The calendar repeats itself after 400 years. The years of std::chrono end at 32767.
  constexpr days calendar(146'097);
  const sys_time<microseconds> at{microseconds(unix_us)};
  const auto day = floor<days>(at);
  const auto repeats = day.time_since_epoch() / calendar;
  const year_month_day date(day - repeats * calendar);
  const auto since_midnight = at.time_since_epoch() % days(1);
  const hh_mm_ss time(since_midnight < 0us ? since_midnight + days(1) : since_midnight);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ",
                static_cast<int>(date.year()) + 400 * static_cast<int>(repeats),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text.data();
}

}  // namespace seriatim::handlers

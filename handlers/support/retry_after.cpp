#include "support/retry_after.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds wait_max = std::chrono::days(366);

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

milliseconds from_digits(std::string_view digits) {
  std::int64_t value = 0;
  for (const char c : digits) value = std::min(value * 10 + (c - '0'), wait_max.count());
  return seconds(value);
}

unsigned month_of(std::string_view name) {
  constexpr std::array<std::string_view, 12> names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? 0 : static_cast<unsigned>(found - names.begin()) + 1;
}

struct Parts {
  std::array<char, 4> month{};
  unsigned year = 0, day = 0, hour = 0, minute = 0, second = 0;
};

// sscanf with these conversions does not read the locale. The day's name says nothing new.
bool scan(const std::string& text, Parts& p) {
  int end = 0;
  const auto whole = [&](int fields) {
    return fields == 6 && end == static_cast<int>(text.size());
  };
  if (whole(std::sscanf(text.c_str(), "%*3[A-Za-z], %2u %3[A-Za-z] %4u %2u:%2u:%2u GMT%n", &p.day,
                        p.month.data(), &p.year, &p.hour, &p.minute, &p.second, &end))) {
    return true;
  }
  if (whole(std::sscanf(text.c_str(), "%*9[A-Za-z], %2u-%3[A-Za-z]-%2u %2u:%2u:%2u GMT%n", &p.day,
                        p.month.data(), &p.year, &p.hour, &p.minute, &p.second, &end))) {
    p.year += p.year < 70 ? 2000 : 1900;
    return true;
  }
  return whole(std::sscanf(text.c_str(), "%*3[A-Za-z] %3[A-Za-z] %2u %2u:%2u:%2u %4u%n",
                           p.month.data(), &p.day, &p.hour, &p.minute, &p.second, &p.year, &end));
}

std::optional<std::chrono::sys_seconds> parse_http_date(const std::string& text) {
  Parts parts;
  if (!scan(text, parts)) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(parts.year)),
                                         std::chrono::month(month_of(parts.month.data())),
                                         std::chrono::day(parts.day)};
  if (!date.ok() || parts.hour > 23 || parts.minute > 59 || parts.second > 60) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(parts.hour) +
         std::chrono::minutes(parts.minute) + seconds(parts.second);
}

}  // namespace

std::optional<milliseconds> parse_retry_after(std::string_view value,
                                              std::chrono::system_clock::time_point now) {
  constexpr std::size_t value_bytes_max = 64;
  value = without_blanks(value);
  if (value.empty() || value.size() > value_bytes_max) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), is_digit)) return from_digits(value);
  const auto date = parse_http_date(std::string(value));
  if (!date) return std::nullopt;
  // In whole seconds: the clock's own nanoseconds would overflow in the year 2262.
  const auto wait = *date - std::chrono::floor<seconds>(now);
  return std::clamp(wait, seconds(0), wait_max);
}

}  // namespace seriatim::handlers

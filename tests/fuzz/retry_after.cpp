#include "support/retry_after.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(retry_after) {
  using namespace std::chrono;
  using seriatim::fuzz::require;
  using seriatim::handlers::parse_retry_after;
  const auto now = sys_days(2026y / January / 31) + 8h;
  const auto wait = parse_retry_after(input, now);
  if (!wait) return;
  require(*wait >= 0s && *wait <= days(366), "a wait is between nothing and a year");
  require(*wait % 1s == 0s, "a wait is whole seconds");
  const bool all_digits =
      std::all_of(input.begin(), input.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (all_digits && input.size() < 8) {
    require(*wait == std::min<milliseconds>(seconds(std::stol(std::string(input))), days(366)),
            "a number is seconds");
  }
  const std::time_t then = system_clock::to_time_t(now + *wait);
  std::tm parts{};
  ::gmtime_r(&then, &parts);
  for (const auto* form : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%c"}) {
    std::array<char, 64> date{};
    std::strftime(date.data(), date.size(), form, &parts);
    require(parse_retry_after(date.data(), now) == wait, "a wait is the same as a date");
  }
}

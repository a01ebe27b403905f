#include "support/time_text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace seriatim::handlers {

std::string rfc3339(std::int64_t unix_us) {
  constexpr std::int64_t second = 1'000'000;
  const bool rounds_up = unix_us % second < 0;
  const std::time_t seconds = unix_us / second - (rounds_up ? 1 : 0);
  const auto fraction = unix_us % second + (rounds_up ? second : 0);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, static_cast<int>(fraction));
  return text.data();
}

}  // namespace seriatim::handlers

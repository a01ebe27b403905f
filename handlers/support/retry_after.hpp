#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace seriatim::handlers {

/// Reads a Retry-After value: seconds, or any of the three HTTP-dates of RFC 9110 §5.6.7 (a date
/// gone by means "now"). Absent for anything else. At most a year; the lane's cap is tighter.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_retry_after(
    std::string_view value, std::chrono::system_clock::time_point now);

}  // namespace seriatim::handlers

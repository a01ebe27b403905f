#pragma once

#include <cstdint>
#include <string>

namespace seriatim::handlers {

/// Microseconds since 1970-01-01 UTC as "2026-11-20T14:00:00.000123Z" (RFC 3339).
[[nodiscard]] std::string rfc3339(std::int64_t unix_us);

}  // namespace seriatim::handlers

#include "redis/redis_refusal.hpp"

#include <algorithm>
#include <array>

namespace seriatim::handlers {

namespace {

// src/t_stream.c, src/networking.c of Redis 5 to 7.
constexpr std::array<std::string_view, 4> against_a_row = {
    "Protocol error: invalid bulk length",  // over proto-max-bulk-len; it hangs up
    "Protocol error: invalid multibulk length", "Elements are too large to be stored",
    "string exceeds maximum allowed size"};

}  // namespace

RedisRefusal refusal_of(std::string_view error) {
  const auto says = [&](std::string_view text) { return error.find(text) != error.npos; };
  if (std::any_of(against_a_row.begin(), against_a_row.end(), says)) return RedisRefusal::row;
  if (says("equal or smaller")) return RedisRefusal::id;
  return says("WRONGTYPE") ? RedisRefusal::stream : RedisRefusal::server;
}

}  // namespace seriatim::handlers

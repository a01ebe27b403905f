// Calls of the redis handler for its tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "redis/redis_handler.hpp"
#include "support/call_checks.hpp"
#include "support/handler_rows.hpp"
#include "support/redis_server.hpp"

namespace seriatim::testing {

using handlers::RedisHandler;
using handlers::RedisHandlerConfig;

inline constexpr const char* stream = "bookings:0";

inline RedisHandlerConfig config_for(const RedisServer& server) {
  RedisHandlerConfig config;
  config.place = handlers::parse_service_url(server.url(), {"redis", "rediss", "6379"}).place;
  return config;
}

inline BatchOutcome deliver(const RedisServer& server, const std::vector<Record>& batch) {
  RedisHandler handler(config_for(server));
  return deliver(handler, batch);
}

/// "1-0 2-0 …" as readers see them.
inline std::string ids_in(const RedisServer& server, const std::string& name = stream) {
  std::string ids;
  for (const auto& entry : entries_of(server, name)) ids += (ids.empty() ? "" : " ") + entry.id;
  return ids;
}

inline std::string ids_up_to(std::size_t count) {
  return numbers_up_to(count, "-0");
}

}  // namespace seriatim::testing

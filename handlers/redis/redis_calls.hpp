// Calls of the redis handler for its tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "redis/redis_handler.hpp"
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

inline BatchOutcome deliver(RedisHandler& handler, const std::vector<Record>& batch,
                            std::chrono::milliseconds time = std::chrono::seconds{30}) {
  return handler.handle(batch, call_within(time));
}

inline BatchOutcome deliver(const RedisServer& server, const std::vector<Record>& batch) {
  RedisHandler handler(config_for(server));
  return deliver(handler, batch);
}

inline bool all_done(const BatchOutcome& outcome, const std::vector<Record>& batch) {
  if (outcome.next) MESSAGE(outcome.next->reason);
  return outcome.done == batch.size() && !outcome.next;
}

inline bool says(const BatchOutcome& outcome, const std::string& text) {
  if (!outcome.next) return false;
  CAPTURE(outcome.next->reason);
  CHECK(outcome.next->reason.find(text) != std::string::npos);
  return outcome.next->reason.find(text) != std::string::npos;
}

/// "1-0 2-0 …" as readers see them.
inline std::string ids_in(const RedisServer& server, const std::string& name = stream) {
  std::string ids;
  for (const auto& entry : entries_of(server, name)) ids += (ids.empty() ? "" : " ") + entry.id;
  return ids;
}

inline std::string ids_up_to(std::size_t count) {
  std::string ids;
  for (std::size_t n = 1; n <= count; ++n) ids += (n == 1 ? "" : " ") + std::to_string(n) + "-0";
  return ids;
}

}  // namespace seriatim::testing

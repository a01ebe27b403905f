#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "seriatim/options.hpp"
#include "support/service_config.hpp"

namespace seriatim::handlers {

struct RedisHandlerConfig : ServiceConfig {  // without a user: the server's default one
  unsigned database = 0;
  std::string stream = "{{process}}:{{lane}}";  ///< template
  bool stream_by_record = false;                ///< it names more than process and lane
  std::uint64_t maxlen = 0;                     ///< entries kept in a stream; 0: all
  bool trim_exactly = false;                    ///< else whole nodes only, which is cheaper
  unsigned wait_replicas = 0;                   ///< done when so many replicas have it too
  std::chrono::milliseconds wait_timeout{1'000};
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] RedisHandlerConfig read_redis_config(Options& options);

}  // namespace seriatim::handlers

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "seriatim/options.hpp"
#include "support/message_form.hpp"
#include "support/url.hpp"

namespace seriatim::handlers {

struct RedisHandlerConfig {
  Url place;
  std::string username;  ///< empty: the server's default user
  std::string password;  ///< empty: no AUTH
  unsigned database = 0;
  std::string stream = "{{process}}:{{lane}}";  ///< template
  bool stream_by_record = false;                ///< it names more than process and lane
  MessageFormConfig form;                       ///< of field `payload`
  std::uint64_t maxlen = 0;                     ///< entries kept in a stream; 0: all
  bool trim_exactly = false;                    ///< else whole nodes only, which is cheaper
  unsigned wait_replicas = 0;                   ///< done when so many replicas have it too
  std::chrono::milliseconds wait_timeout{1'000};
  std::chrono::milliseconds connect_timeout{10'000};
  std::string ca_file;  ///< PEM; empty: the system's certificate authorities
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] RedisHandlerConfig read_redis_config(Options& options);

}  // namespace seriatim::handlers

#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "seriatim/options.hpp"
#include "support/service_config.hpp"

namespace seriatim::handlers {

struct NatsHandlerConfig : ServiceConfig {
  std::string token;
  std::string credentials_file;                  ///< of a user with JWT and NKey
  std::string subject = "{{process}}.{{lane}}";  ///< template
  std::string stream;                     ///< must be the one that takes the message; empty: any
  bool expect_last_message = true;        ///< each message names the one it must follow
  bool missing_stream_is_poison = false;  ///< else retried
  std::size_t in_flight = 1'000;          ///< rows sent and not yet acknowledged
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] NatsHandlerConfig read_nats_config(Options& options);

}  // namespace seriatim::handlers

#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "seriatim/options.hpp"
#include "support/message_form.hpp"
#include "support/url.hpp"

namespace seriatim::handlers {

struct NatsHandlerConfig {
  Url place;
  std::string username;
  std::string password;
  std::string token;
  std::string credentials_file;                  ///< of a user with JWT and NKey
  std::string subject = "{{process}}.{{lane}}";  ///< template
  std::string stream;  ///< must be the one that takes the message; empty: any
  MessageFormConfig form;
  bool expect_last_message = true;        ///< each message names the one it must follow
  bool missing_stream_is_poison = false;  ///< else retried
  std::size_t in_flight = 1'000;          ///< rows sent and not yet acknowledged
  std::chrono::milliseconds connect_timeout{10'000};
  std::string ca_file;  ///< PEM; empty: the system's certificate authorities
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] NatsHandlerConfig read_nats_config(Options& options);

}  // namespace seriatim::handlers

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/secrets.hpp"
#include "console/tls_context.hpp"
#include "console/user.hpp"
#include "seriatim/options.hpp"

namespace seriatim::app {

/// Where to listen: an address and a port, or a unix socket.
struct ListenPlace {
  std::string address;  ///< "127.0.0.1", "::1"
  unsigned short port = 0;
  std::string unix_path{};  ///< instead of the two
};

/// `[console]`: what a relay serves over HTTP.
struct ConsoleConfig {
  ListenPlace listen;
  std::optional<ListenPlace> probes;  ///< only the paths that show no rows, without a token
  std::vector<std::string> hosts;     ///< names by which clients may call us
  std::vector<console::User> users;   ///< `token` is that of the user "operator"
  std::optional<console::TrustedProxy> proxy;
  std::optional<console::Certificate> tls;
  bool masked = false;            ///< payloads are shown, but only the values at `show`
  std::vector<std::string> show;  ///< full paths: "payload.type"
};

[[nodiscard]] ConsoleConfig read_console(Options section, Secrets& secrets);

}  // namespace seriatim::app

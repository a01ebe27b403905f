#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/secrets.hpp"
#include "seriatim/options.hpp"

namespace seriatim::app {

/// An address and a port to listen on.
struct ListenPlace {
  std::string address;  ///< "127.0.0.1", "::1"
  unsigned short port = 0;
};

/// `[console]`: what a relay serves over HTTP.
struct ConsoleConfig {
  ListenPlace listen;
  std::optional<ListenPlace> probes;  ///< only the paths that show no rows, without a token
  std::string token;               ///< empty: none; else /metrics and /statusz of `listen` ask it
  std::vector<std::string> hosts;  ///< names by which clients may call us
};

[[nodiscard]] ConsoleConfig read_console(Options section, Secrets& secrets);

}  // namespace seriatim::app

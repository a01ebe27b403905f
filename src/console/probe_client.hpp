#pragma once

#include <chrono>
#include <string>

namespace seriatim::console {

struct ProbeAnswer {
  unsigned status = 0;
  std::string body;
};

/// Where a relay listens.
struct ProbePlace {
  std::string address{};
  unsigned short port = 0;
  std::string unix_path{};  ///< instead of the two
  bool tls = false;
};

/// GET `path` of the server there, as a probe does. Throws Error if there is no answer within
/// `limit`.
[[nodiscard]] ProbeAnswer ask(const ProbePlace& place, const std::string& path,
                              std::chrono::milliseconds limit);
/// GET `path` of the server at `address`, as a probe does. Throws Error if there is no answer
/// within `limit`.
[[nodiscard]] ProbeAnswer ask(const std::string& address, unsigned short port,
                              const std::string& path, std::chrono::milliseconds limit);

}  // namespace seriatim::console

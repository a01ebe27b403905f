#pragma once

#include <chrono>
#include <string>

namespace seriatim::console {

struct ProbeAnswer {
  unsigned status = 0;
  std::string body;
};

/// GET `path` of the server at `address`, as a probe does. Throws Error if there is no answer
/// within `limit`.
[[nodiscard]] ProbeAnswer ask(const std::string& address, unsigned short port,
                              const std::string& path, std::chrono::milliseconds limit);

}  // namespace seriatim::console

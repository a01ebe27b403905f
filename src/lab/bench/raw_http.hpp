#pragma once

#include <cstdint>

namespace seriatim::bench {

/// POSTs a second of a bare loop with Beast over one kept connection, one after another.
[[nodiscard]] double raw_http(unsigned short port, std::uint64_t requests);

}  // namespace seriatim::bench

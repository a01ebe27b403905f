#pragma once

namespace seriatim::testing {

/// A TCP port of 127.0.0.1, free when asked and told to no other test program as long as this one
/// runs; kept out of the range for outgoing connections, from which another program would soon be
/// given it while the server is down.
[[nodiscard]] int free_port();

}  // namespace seriatim::testing

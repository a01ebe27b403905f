#pragma once

namespace seriatim::lab {

/// A TCP port of 127.0.0.1, free when asked and given to no other program of ours as long as this
/// one runs; kept out of the range for outgoing connections, from which another program would soon
/// be given it while the server is down.
[[nodiscard]] int free_port();

}  // namespace seriatim::lab

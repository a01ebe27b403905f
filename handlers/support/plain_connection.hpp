#pragma once

#include <memory>

#include "support/connection.hpp"
#include "support/fd.hpp"

namespace seriatim::handlers {

/// False when the other end closed it, or sent what nobody has read yet.
[[nodiscard]] bool has_nothing_to_read(int socket);

/// HTTP without TLS over a connected socket.
[[nodiscard]] std::unique_ptr<Connection> make_plain_connection(Fd socket);

}  // namespace seriatim::handlers

#pragma once

#include <string_view>

namespace seriatim::handlers {

/// What the end of a channel speaks against, where one message alone was on its way.
enum class AmqpRefusal {
  server,    ///< its state or ours at it: no rights, shutting down … it may work later
  exchange,  ///< there is none of that name
  row,       ///< it will never take this message
};

/// By the code it was closed with (AMQP 0-9-1, 1.1 "reply codes").
[[nodiscard]] AmqpRefusal amqp_refusal_of(unsigned code, std::string_view text);

}  // namespace seriatim::handlers

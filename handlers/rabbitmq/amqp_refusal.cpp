#include "rabbitmq/amqp_refusal.hpp"

namespace seriatim::handlers {

AmqpRefusal amqp_refusal_of(unsigned code, std::string_view text) {
  const auto says = [&](std::string_view part) { return text.find(part) != text.npos; };
  switch (code) {
    case 404: return says("no exchange") ? AmqpRefusal::exchange : AmqpRefusal::server;
    case 311:  // CONTENT_TOO_LARGE
    case 406:  // PRECONDITION_FAILED: over max_message_size, an invalid property …
    case 501:  // FRAME_ERROR
    case 502:  // SYNTAX_ERROR
    case 540:  // NOT_IMPLEMENTED
      return AmqpRefusal::row;
    default: return AmqpRefusal::server;  // 403 ACCESS_REFUSED, 320 CONNECTION_FORCED, 541 …
  }
}

}  // namespace seriatim::handlers

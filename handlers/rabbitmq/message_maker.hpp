#pragma once

#include <string>
#include <vector>

#include "rabbitmq/amqp_frames.hpp"
#include "rabbitmq/rabbitmq_config.hpp"
#include "seriatim/record.hpp"
#include "support/message_form.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// A record made ready for its exchange.
///
/// Lifetime: refers to the record it was made of.
struct RoutedMessage {
  std::string exchange;
  std::string routing_key;
  MessageBody body;
  std::vector<Header> attributes;  ///< of CloudEvents in binary mode, by their names in AMQP

  [[nodiscard]] std::string route() const { return exchange + '\0' + routing_key; }
  [[nodiscard]] std::size_t body_bytes() const { return body.bytes().value_or("").size(); }
};

/// Records as AMQP messages: where they go, their properties and headers.
class MessageMaker {
 public:
  /// Throws CannotRender for a configuration that `read_rabbitmq_config` would have complained
  /// about.
  explicit MessageMaker(const RabbitmqHandlerConfig& config);

  /// Throws CannotRender where a template wants what the record lacks.
  [[nodiscard]] RoutedMessage make(const Record& record) const;
  /// Views into both.
  [[nodiscard]] AmqpMessage view(const Record& record, const RoutedMessage& made) const;
  /// All messages go the same way.
  [[nodiscard]] bool has_one_route() const { return one_route_; }

 private:
  bool mandatory_;
  Template exchange_;
  Template routing_key_;
  MessageForm form_;
  bool one_route_;
};

}  // namespace seriatim::handlers

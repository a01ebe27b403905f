#pragma once

#include <optional>
#include <set>
#include <string>

#include "rabbitmq/amqp_connection.hpp"
#include "rabbitmq/message_maker.hpp"
#include "rabbitmq/rabbitmq_config.hpp"
#include "seriatim/handler.hpp"
#include "support/excerpt.hpp"

namespace seriatim::handlers {

/// Publishes to RabbitMQ with publisher confirms. What answers mean is in README.md beside this
/// file.
class RabbitmqHandler final : public Handler {
 public:
  /// Throws CannotRender for a configuration that `read_rabbitmq_config` would have complained
  /// about.
  explicit RabbitmqHandler(RabbitmqHandlerConfig config);

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Rows = std::span<const Record>;
  /// How many leading rows are done, and why not all that were sent.
  struct Published {
    std::size_t done = 0;
    std::optional<Outcome> failure;
    std::size_t one_by_one = 0;  ///< of so many rows one ended the channel: send each alone
  };

  /// Why nothing can be sent; empty: it can.
  [[nodiscard]] std::optional<Outcome> make_ready(Clock::time_point deadline);
  [[nodiscard]] std::optional<Outcome> ask_whether_blocked(Clock::time_point deadline);
  /// Sends the next rows, as many as may be on their way at once.
  [[nodiscard]] Published publish(Rows rows, bool alone, Clock::time_point deadline);
  [[nodiscard]] std::size_t add(Rows rows, bool alone);
  [[nodiscard]] bool travels_alone(const RoutedMessage& message) const;
  [[nodiscard]] Published judge(const AmqpReport& report);
  [[nodiscard]] Published judge_unanswered(const AmqpReport& report, std::size_t done);
  [[nodiscard]] Outcome judge_closure(const AmqpReport& report) const;
  [[nodiscard]] Outcome judge_return(const std::string& said) const;
  [[nodiscard]] std::string what_blocks() const;
  void remember_route();
  [[nodiscard]] std::string told(std::string text) const;

  RabbitmqHandlerConfig config_;
  MessageMaker maker_;
  AmqpConnection connection_;
  Redactor redactor_;
  std::string route_;             ///< of the row that travels alone
  std::set<std::string> routes_;  ///< that had a row confirmed on this connection
  bool proven_ = false;           ///< it had any
  bool blocked_ = false;          ///< the last the server said was that it takes nothing
  Clock::time_point cautious_until_{};
};

}  // namespace seriatim::handlers

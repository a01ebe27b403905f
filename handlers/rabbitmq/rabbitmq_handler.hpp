#pragma once

#include <optional>
#include <set>
#include <string>

#include "rabbitmq/amqp_connection.hpp"
#include "rabbitmq/message_maker.hpp"
#include "rabbitmq/rabbitmq_config.hpp"
#include "support/pipelined_handler.hpp"

namespace seriatim::handlers {

/// Publishes to RabbitMQ with publisher confirms. What answers mean is in README.md in this
/// folder.
class RabbitmqHandler final : public PipelinedHandler {
 public:
  /// Throws CannotRender for a configuration that `read_rabbitmq_config` would have complained
  /// about.
  explicit RabbitmqHandler(RabbitmqHandlerConfig config);

  std::optional<Rendering> render(const Record& record) override;

 private:
  [[nodiscard]] std::optional<Outcome> begin(Rows rows, Clock::time_point deadline) override;
  [[nodiscard]] bool add(Rows rows, std::size_t row) override;
  [[nodiscard]] RoundResult settle(Rows sent, Clock::time_point deadline) override;

  [[nodiscard]] std::optional<Outcome> make_ready(Clock::time_point deadline);
  [[nodiscard]] std::optional<Outcome> ask_whether_blocked(Clock::time_point deadline);
  [[nodiscard]] bool travels_alone(const RoutedMessage& message) const;
  [[nodiscard]] std::optional<Outcome> judge_unanswered(const AmqpReport& report,
                                                        std::size_t unanswered);
  [[nodiscard]] Outcome judge_closure(const AmqpReport& report) const;
  [[nodiscard]] Outcome judge_return(const std::string& said) const;
  [[nodiscard]] std::string what_blocks() const;
  void remember_route();

  RabbitmqHandlerConfig config_;
  MessageMaker maker_;
  AmqpConnection connection_;
  std::string route_;             ///< of the first row of the round
  std::size_t limit_ = 0;         ///< rows in this round
  std::size_t one_by_one_ = 0;    ///< of so many rows one ended the channel: send each alone
  std::set<std::string> routes_;  ///< that had a row confirmed on this connection
  bool proven_ = false;           ///< it had any
  bool blocked_ = false;          ///< the last the server said was that it takes nothing
  Clock::time_point cautious_until_{};
};

}  // namespace seriatim::handlers

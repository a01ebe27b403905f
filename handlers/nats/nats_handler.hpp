#pragma once

#include <optional>
#include <string>

#include "nats/nats_config.hpp"
#include "nats/nats_connection.hpp"
#include "nats/nats_message.hpp"
#include "support/pipelined_handler.hpp"

namespace seriatim::handlers {

/// Publishes to JetStream. What answers mean is in README.md in this folder.
class NatsHandler final : public PipelinedHandler {
 public:
  /// Throws CannotRender for a configuration that `read_nats_config` would have complained about.
  explicit NatsHandler(NatsHandlerConfig config);

  std::optional<Rendering> render(const Record& record) override;

 private:
  [[nodiscard]] std::optional<Outcome> begin(Rows rows, Clock::time_point deadline) override;
  [[nodiscard]] bool add(Rows rows, std::size_t row) override;
  [[nodiscard]] RoundResult settle(Rows sent, Clock::time_point deadline) override;
  [[nodiscard]] std::optional<Header> expectation(Rows rows, std::size_t row) const;
  [[nodiscard]] bool first_is_chained() const;
  [[nodiscard]] Outcome judge_missing(const NatsReport& report) const;
  [[nodiscard]] std::optional<Outcome> judge_refusal(const PublishAck& ack);
  [[nodiscard]] std::optional<Outcome> judge_wrong_sequence(const PublishAck& ack);

  NatsHandlerConfig config_;
  NatsMessageMaker maker_;
  NatsConnection connection_;
  /// Of the last row that was acknowledged on this connection: what the next one must follow.
  std::optional<std::string> last_id_;
  /// Of the last row that was acknowledged on any: what the server must not have lost.
  std::optional<std::uint64_t> last_sequence_;
  std::string stream_;
  bool compared_ = false;      ///< on this connection
  std::size_t bytes_ = 0;      ///< sent in this round
  std::size_t window_;         ///< rows sent at once; shrinks where others write into the stream
  bool others_write_ = false;  ///< until the window has its size again
};

}  // namespace seriatim::handlers

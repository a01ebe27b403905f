#pragma once

#include <optional>
#include <string>

#include "nats/nats_config.hpp"
#include "nats/nats_connection.hpp"
#include "nats/nats_message.hpp"
#include "seriatim/handler.hpp"
#include "support/excerpt.hpp"

namespace seriatim::handlers {

/// Publishes to JetStream. What answers mean is in README.md beside this file.
class NatsHandler final : public Handler {
 public:
  /// Throws CannotRender for a configuration that `read_nats_config` would have complained about.
  explicit NatsHandler(NatsHandlerConfig config);

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Rows = std::span<const Record>;
  /// How many leading rows are done, and why not all that were sent.
  struct Published {
    std::size_t done = 0;
    std::optional<Outcome> failure;
  };

  [[nodiscard]] std::optional<Outcome> make_ready(Clock::time_point deadline);
  /// Sends the next rows, as many as may be on their way at once.
  void send(Rows rows);
  [[nodiscard]] std::optional<Header> expectation(Rows rows, std::size_t row) const;
  [[nodiscard]] bool first_is_chained() const;
  [[nodiscard]] Published judge(Rows rows, const NatsReport& report);
  [[nodiscard]] Outcome judge_missing(const NatsReport& report) const;
  [[nodiscard]] std::optional<Outcome> judge_refusal(const PublishAck& ack);
  [[nodiscard]] std::optional<Outcome> judge_wrong_sequence(const PublishAck& ack);
  [[nodiscard]] std::string told(std::string text) const;

  NatsHandlerConfig config_;
  NatsMessageMaker maker_;
  NatsConnection connection_;
  Redactor redactor_;
  /// Of the last row that was acknowledged on this connection: what the next one must follow.
  std::optional<std::string> last_id_;
  /// Of the last row that was acknowledged on any: what the server must not have lost.
  std::optional<std::uint64_t> last_sequence_;
  std::string stream_;
  bool compared_ = false;      ///< on this connection
  std::size_t window_;         ///< rows sent at once; shrinks where others write into the stream
  bool others_write_ = false;  ///< until the window has its size again
};

}  // namespace seriatim::handlers

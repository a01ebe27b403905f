#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nats/nats_config.hpp"
#include "nats/nats_message.hpp"
#include "nats/publish_ack.hpp"
#include "support/resolver.hpp"

namespace seriatim::handlers {

/// What became of messages that were sent together, in their order.
struct NatsReport {
  std::vector<std::optional<PublishAck>> acks;
  std::size_t without_stream = 0;  ///< so many of those missing: no stream takes their subject
  bool denied = false;             ///< the server said we may not; then `failure` says what
  std::string failure;             ///< why acks are missing
};

/// A connection of libnats that never reconnects: what the library would send again, or later, is
/// the lane's to decide.
///
/// Threads: one user at a time; libnats has some of its own.
class NatsConnection {
 public:
  using Clock = std::chrono::steady_clock;

  explicit NatsConnection(const NatsHandlerConfig& config);  ///< keeps a reference
  ~NatsConnection();
  NatsConnection(const NatsConnection&) = delete;
  NatsConnection& operator=(const NatsConnection&) = delete;

  [[nodiscard]] bool is_open() const;
  /// Answers what went wrong; empty: nothing.
  [[nodiscard]] std::string open(Clock::time_point deadline);
  void close();

  /// Sends, sooner or later. Throws CannotRender for a message the server would hang up over. A
  /// connection that breaks is reported by `collect`.
  void publish(const NatsMessage& message);
  /// Waits for the acks of all that was published since the last call. The connection is closed
  /// unless all came: what comes late must not be taken for an answer to something else.
  [[nodiscard]] NatsReport collect(Clock::time_point deadline);

 private:
  class Impl;

  const NatsHandlerConfig& config_;
  Resolver resolver_;
  std::unique_ptr<Impl> impl_;  ///< an open connection
};

}  // namespace seriatim::handlers

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rabbitmq/amqp_frames.hpp"
#include "rabbitmq/rabbitmq_config.hpp"
#include "support/connector.hpp"

namespace seriatim::handlers {

/// What became of messages that were sent together, in their order.
struct AmqpReport {
  enum class Answer : std::uint8_t { none, acked, nacked, returned };
  /// The server ended the channel, or the whole connection.
  struct Closure {
    bool channel_only = false;
    unsigned code = 0;
    std::string text;
  };

  std::vector<Answer> answers;
  std::map<std::size_t, std::string> returns;  ///< what was said with those returned
  std::optional<Closure> closure;
  std::string failure;  ///< why some answers are missing
};

/// A connection with one channel in confirm mode, which gives up at a deadline. librabbitmq writes
/// and reads the protocol; the bytes travel by ByteStream, for librabbitmq has no deadline for what
/// it sends.
///
/// Threads: one user at a time.
class AmqpConnection {
 public:
  using Clock = std::chrono::steady_clock;

  explicit AmqpConnection(const RabbitmqHandlerConfig& config);  ///< keeps a reference
  ~AmqpConnection();

  /// Open, as far as the server has said, and not blocked. One that was unused for long is closed:
  /// what lies between may have forgotten it.
  [[nodiscard]] bool is_ready();
  /// Why the server took no messages when it was last heard; empty: it did.
  [[nodiscard]] const std::string& blocked() const { return blocked_; }
  /// Answers what went wrong; empty: nothing.
  [[nodiscard]] std::string open(Clock::time_point deadline);
  void close();  ///< says good-bye

  /// Adds to what is sent next. Throws CannotRender for a message AMQP cannot carry.
  void add(const AmqpMessage& message);
  [[nodiscard]] std::size_t bytes_added() const { return writer_.bytes().size(); }
  /// Sends what was added and waits for its answers. The connection is closed unless all came: what
  /// comes late must not be taken for an answer to something else.
  [[nodiscard]] AmqpReport send(Clock::time_point deadline);

 private:
  void drop();
  [[nodiscard]] std::string shake_hands(Clock::time_point deadline);
  /// Sends what was written and waits for such an event.
  [[nodiscard]] std::string step(AmqpEvent::Kind awaited, AmqpEvent& found,
                                 Clock::time_point deadline);
  /// False: no answer to anything that was asked.
  [[nodiscard]] bool take(const AmqpEvent& event, AmqpReport& report);
  /// What the server said while nobody asked.
  void hear();
  [[nodiscard]] bool answer(const AmqpEvent& event, AmqpReport& report);
  void give_back(const AmqpEvent& event, AmqpReport& report);

  const RabbitmqHandlerConfig& config_;
  const HttpClientConfig network_;
  Connector connector_;
  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<AmqpReader> reader_;
  AmqpWriter writer_;
  Clock::time_point used_at_{};
  std::uint32_t frame_max_ = 0;
  std::string blocked_;
  std::uint64_t tag_before_ = 0;  ///< delivery tag of the last message of earlier sendings
  std::vector<std::string> ids_;  ///< of what was added
  std::vector<bool> confirmed_;   ///< of these
  std::size_t answered_ = 0;
  std::size_t unconfirmed_from_ = 0;  ///< all before were
};

}  // namespace seriatim::handlers

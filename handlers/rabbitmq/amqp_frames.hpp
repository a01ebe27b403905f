#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace seriatim::handlers {

/// A message as basic.publish carries it. Views, all of them.
struct AmqpMessage {
  using Value = std::variant<std::string_view, std::int64_t>;

  std::string_view exchange;
  std::string_view routing_key;
  bool mandatory = false;
  std::string_view content_type;
  std::string_view id;
  std::string_view type;        ///< empty: left out
  std::string_view app_id;      ///< empty: left out
  std::uint64_t timestamp = 0;  ///< seconds since 1970; 0: left out
  std::vector<std::pair<std::string_view, Value>> headers;
  std::string_view body;
};

inline constexpr std::size_t amqp_name_bytes_max = 255;  ///< names, ids, types, routing keys
/// What librabbitmq reads before a connection is tuned, which it would end the program over if done
/// in the midst of a frame.
inline constexpr std::uint32_t amqp_frame_bytes_max = 64 << 10;
inline constexpr std::uint32_t amqp_frame_bytes_min = 4 << 10;  ///< what every peer takes

/// AMQP 0-9-1 as a client that publishes on one channel writes it; librabbitmq encodes.
class AmqpWriter {
 public:
  void protocol_header();
  void start_ok(std::string_view user, std::string_view password);
  /// The server's tune is answered, the vhost and a channel with publisher confirms opened.
  void open(std::string_view vhost, std::uint32_t frame_max);
  /// Throws CannotRender for a message AMQP cannot carry; then nothing of it was written.
  void publish(const AmqpMessage& message, std::uint32_t frame_max);
  void close();

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void method(std::uint16_t channel, std::uint32_t id, void* fields);
  void content_header(const AmqpMessage& message, std::uint32_t frame_max);
  /// Room for a frame's payload; answers where it begins.
  std::size_t begin_frame(std::uint8_t type, std::uint16_t channel, std::size_t payload_bytes_max);
  void end_frame(std::size_t payload_at, std::size_t payload_bytes);

  std::string bytes_;
};

/// What the server said.
struct AmqpEvent {
  enum class Kind {
    start,              ///< wants to know who we are
    tune,               ///< `frame_max`
    confirms_selected,  ///< the end of opening
    ack,                ///< `tag`, `multiple`
    nack,               ///< likewise
    returned,           ///< `code`, `text`, `message_id`: no queue for this message
    blocked,            ///< `text`: takes no messages for now
    unblocked,
    channel_closed,     ///< `code`, `text`
    connection_closed,  ///< likewise
    other,              ///< of no interest
  };

  Kind kind = Kind::other;
  std::uint64_t tag = 0;
  bool multiple = false;
  unsigned code = 0;
  std::string text;
  std::string message_id;
  std::uint32_t frame_max = 0;
};

/// Takes bytes as they come, gives events; librabbitmq decodes.
class AmqpReader {
 public:
  AmqpReader();
  ~AmqpReader();
  AmqpReader(const AmqpReader&) = delete;
  AmqpReader& operator=(const AmqpReader&) = delete;

  /// Why these bytes are no AMQP; empty: they are.
  [[nodiscard]] std::string take(std::string_view bytes, std::vector<AmqpEvent>& events);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers

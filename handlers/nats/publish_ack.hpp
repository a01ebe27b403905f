#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seriatim::handlers {

/// What JetStream answers to a message.
struct PublishAck {
  std::string stream;
  std::uint64_t sequence = 0;  ///< of the message in the stream; of the first one for a repeat
  bool duplicate = false;
  unsigned error = 0;  ///< JetStream's err_code; 0: stored
  std::string description;

  [[nodiscard]] bool is_stored() const { return error == 0; }
  /// The stream does not end with the message that was named, by id or by sequence.
  [[nodiscard]] bool is_wrong_predecessor() const { return error == wrong_last_id; }
  [[nodiscard]] bool is_wrong_sequence() const { return error == wrong_last_sequence; }
  /// … but with this one.
  [[nodiscard]] std::optional<std::uint64_t> stream_ends_at() const;
  /// It will never take this message. Else it may work later.
  [[nodiscard]] bool is_against_the_row() const;

  static constexpr unsigned wrong_last_id = 10'070;
  static constexpr unsigned wrong_last_sequence = 10'071;
  static constexpr unsigned not_an_ack = 1;  ///< what was answered is none
};

[[nodiscard]] PublishAck parse_publish_ack(std::string_view text);

}  // namespace seriatim::handlers

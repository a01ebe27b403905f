#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "redis/redis_config.hpp"
#include "redis/redis_connection.hpp"
#include "seriatim/record.hpp"
#include "seriatim/rendering.hpp"
#include "support/message_form.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// Rows appended by one transaction; one alone by a plain XADD.
///
/// Lifetime: refers to the records.
struct Flight {
  std::string stream;
  std::span<const Record> rows;
  std::vector<MessageBody> bodies;  ///< one a row
  std::size_t bytes = 0;
};

/// What became of a flight.
struct Landing {
  std::size_t appended = 0;     ///< leading rows the server has
  std::string refusal;          ///< what it said against the next, or against all
  std::size_t refused_row = 0;  ///< which it said it about
  bool guarded = true;          ///< no script failed
  bool known = false;           ///< all its answers are there and are such as they should be
};

/// The id of a row's entry in its stream.
[[nodiscard]] std::string entry_of(const Record& record);

/// Cuts batches into flights and says them in the server's commands.
class Flights {
 public:
  static constexpr std::size_t rows_max = 256;           ///< the server does nothing else meanwhile
  static constexpr std::size_t bytes_max = 2'048 << 10;  ///< or one row

  /// Throws CannotRender for a configuration that `read_redis_config` would have complained about.
  explicit Flights(RedisHandlerConfig config);

  /// Empty, to the stream of this record. Throws CannotRender if the record names none.
  [[nodiscard]] Flight begin(const Record& first) const;
  /// False if the record goes to another stream or the flight is full. Throws CannotRender.
  [[nodiscard]] bool add(Flight& flight, const Record& record) const;

  void add_append(RedisCommands& commands, const Flight& flight) const;
  /// The entry of one record.
  [[nodiscard]] Rendering render(const Record& record) const;
  void add_check(RedisCommands& commands, const Flight& flight) const;
  /// Of the answers to `add_append`, as many as came.
  [[nodiscard]] static Landing landing_of(const Flight& flight,
                                          std::span<const RedisReply> replies);

 private:
  [[nodiscard]] std::string stream_of(const Record& record) const;

  const RedisHandlerConfig config_;
  Template stream_;
  MessageForm form_;
};

}  // namespace seriatim::handlers

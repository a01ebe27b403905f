#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "redis/redis_config.hpp"
#include "redis/redis_connection.hpp"
#include "seriatim/record.hpp"
#include "support/message_form.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// Rows appended by one call of the script.
///
/// Lifetime: looks into the records.
struct Chunk {
  std::string stream;
  std::span<const Record> rows;
  std::vector<MessageBody> bodies;  ///< one a row
};

/// What the server must have for a chunk to be appended at all (append_script.hpp).
struct Precondition {
  std::uint64_t acknowledged = 0;
  const Record* ends_with = nullptr;
};

/// Cuts batches into chunks: rows that follow each other into one stream, few enough that the
/// server is not held up by one call.
class Chunker {
 public:
  static constexpr std::size_t rows_max = 128;
  static constexpr std::size_t bytes_max = 128 << 10;  ///< or one row

  /// Throws CannotRender for a configuration that `read_redis_config` would have complained about.
  explicit Chunker(RedisHandlerConfig config);

  /// At least one row. Throws CannotRender where there is no stream, or no body, for the first; a
  /// later one without is told when it is the first of its chunk.
  [[nodiscard]] Chunk next(std::span<const Record> rows, std::size_t limit) const;
  /// Throws CannotRender where the record names none.
  [[nodiscard]] bool has_stream(const Record& record, const std::string& stream) const;

  /// Adds the call of the script.
  void add_append(RedisCommands& commands, const Chunk& chunk,
                  const Precondition& precondition) const;

 private:
  [[nodiscard]] std::string stream_of(const Record& record) const;
  [[nodiscard]] bool take(Chunk& chunk, const Record& record, std::size_t& bytes) const;

  const RedisHandlerConfig config_;
  Template stream_;
  MessageForm form_;
};

}  // namespace seriatim::handlers

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "redis/chunk.hpp"
#include "redis/redis_config.hpp"
#include "redis/redis_connection.hpp"
#include "seriatim/handler.hpp"
#include "support/excerpt.hpp"

namespace seriatim::handlers {

/// Appends to Redis Streams; the entry's id is the row's sequence number, so that a repeat is
/// refused by the server. What answers mean is in README.md beside this file.
class RedisHandler final : public Handler {
 public:
  /// Throws CannotRender for a configuration that `read_redis_config` would have complained about.
  explicit RedisHandler(RedisHandlerConfig config);

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Chunks = std::vector<Chunk>;
  /// How many leading rows are done, and why not all.
  struct Appended {
    std::size_t done = 0;
    std::optional<Outcome> failure;
    bool one_by_one = false;  ///< a chunk was refused for one of its rows; nothing of it is there
  };

  /// The next rows, as many as may be on their way at once.
  [[nodiscard]] Chunks cut(std::span<const Record> rows, std::size_t chunk_rows_max) const;
  [[nodiscard]] Appended append(const Chunks& chunks, Clock::time_point deadline);
  [[nodiscard]] RedisConnection::Answer ask(const Chunks& chunks, Clock::time_point deadline);
  [[nodiscard]] Appended judge(const Chunks& chunks, const RedisConnection::Answer& answer);
  [[nodiscard]] Appended judge_script(const Chunk& chunk, const RedisReply& reply);
  [[nodiscard]] Appended refused(const Chunk& chunk, std::size_t done, const std::string& error);
  [[nodiscard]] std::optional<Outcome> missing_replicas(
      const RedisConnection::Answer& answer) const;
  [[nodiscard]] std::uint64_t to_be_there(const Chunk& chunk) const;
  void remember(const Chunk& chunk, std::size_t done, bool repeats);
  [[nodiscard]] std::string told(std::string text) const;

  RedisHandlerConfig config_;
  Chunker chunker_;
  RedisConnection connection_;
  Redactor redactor_;
  std::string acknowledged_stream_;  ///< where the last row the server acknowledged is
  std::uint64_t acknowledged_sequence_ = 0;
  bool at_the_end_ = false;  ///< that row was new, so the stream ended with it
};

}  // namespace seriatim::handlers

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/redis_config.hpp"
#include "redis/redis_connection.hpp"
#include "seriatim/record.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// Rows appended by one call of the script.
struct Chunk {
  std::string stream;
  std::span<const Record> rows;
};

/// Cuts batches into chunks: rows that follow each other into one stream, few enough that the
/// server is not held up by one call.
class Chunker {
 public:
  static constexpr std::size_t rows_max = 128;
  static constexpr std::size_t bytes_max = 128 << 10;  ///< or one row

  explicit Chunker(const RedisHandlerConfig& config);

  /// At least one row. Throws CannotRender where there is no stream for the first.
  [[nodiscard]] Chunk next(std::span<const Record> rows, std::size_t limit) const;
  /// False also where the record names none.
  [[nodiscard]] bool has_stream(const Record& record, const std::string& stream) const;

 private:
  [[nodiscard]] std::string stream_of(const Record& record) const;

  Template stream_;
  bool by_record_;
};

/// What the server must have for a chunk to be appended at all (append_script.hpp).
struct Precondition {
  std::uint64_t acknowledged = 0;
  const Record* ends_with = nullptr;
};

/// Adds the call of the script.
void add_append(RedisCommands& commands, const Chunk& chunk, const RedisHandlerConfig& config,
                const Precondition& precondition);

}  // namespace seriatim::handlers

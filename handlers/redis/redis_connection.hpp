#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/redis_config.hpp"
#include "support/connector.hpp"

namespace seriatim::handlers {

/// What the server said to one command.
struct RedisReply {
  enum class Kind { text, error, number, list, none };

  Kind kind = Kind::none;
  std::string text;
  long long number = 0;
  std::vector<RedisReply> items;
};

/// Commands in the server's protocol (RESP 2), one after the other.
class RedisCommands {
 public:
  void add(std::span<const std::string_view> words);
  void add(std::initializer_list<std::string_view> words) { add(std::span(words)); }

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::string bytes_;
  std::size_t count_ = 0;
};

/// A connection that logs in, selects its database and gives up at a deadline. hiredis reads
/// the answers; the bytes travel by ByteStream, for hiredis has no deadline for a whole call
/// and, in Debian 12, no TLS.
///
/// Threads: one user at a time.
class RedisConnection {
 public:
  explicit RedisConnection(const RedisHandlerConfig& config);

  struct Answer {
    std::vector<RedisReply> replies;  ///< as many as came
    std::string failure;              ///< why not all did; then the connection is closed
  };

  /// Opens a connection where there is none.
  [[nodiscard]] Answer ask(const RedisCommands& commands,
                           std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] bool is_open() const { return stream_ != nullptr; }
  void close() { stream_.reset(); }

 private:
  [[nodiscard]] std::string open(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] RedisCommands greeting() const;
  [[nodiscard]] Answer talk(const RedisCommands& commands,
                            std::chrono::steady_clock::time_point deadline);

  const RedisHandlerConfig config_;
  const HttpClientConfig network_;
  Connector connector_;
  std::unique_ptr<ByteStream> stream_;
};

}  // namespace seriatim::handlers

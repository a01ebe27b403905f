#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/broker_server.hpp"

namespace seriatim::testing {

/// A Redis server of its own: every write is on disk before it is answered (appendfsync always).
class RedisServer final : public BrokerServer {
 public:
  struct Options {
    std::vector<std::string> settings;  ///< further words of its command line
    bool started = true;
    bool tls = false;  ///< then it speaks nothing else
  };

  RedisServer() : RedisServer(Options{}) {}
  explicit RedisServer(Options options);

  [[nodiscard]] std::string url() const;

 private:
  [[nodiscard]] std::vector<std::string> command() const override;
  bool answers() override;

  Options wanted_;
};

/// A plain client, which shares nothing with the handler but the library that reads the protocol.
class RedisClient {
 public:
  struct Value {
    std::optional<std::string> text;  ///< absent: nil, or a list
    std::vector<Value> items;

    [[nodiscard]] const std::string& str() const { return text.value(); }
  };
  explicit RedisClient(const RedisServer& server);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  /// Numbers as text. Throws std::runtime_error with the server's error.
  Value run(const std::vector<std::string>& command);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One entry of a stream.
struct RedisEntry {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;

  /// Absent where there is no such field.
  [[nodiscard]] std::optional<std::string> field(const std::string& name) const;
};
std::vector<RedisEntry> entries_of(const RedisServer& server, const std::string& stream);

}  // namespace seriatim::testing

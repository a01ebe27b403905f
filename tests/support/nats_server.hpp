#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/broker_server.hpp"

namespace seriatim::testing {

/// A NATS server with JetStream of its own.
class NatsServer final : public BrokerServer {
 public:
  struct Options {
    std::string settings;  ///< further lines of its configuration
    bool started = true;
    bool tls = false;  ///< then it wants nothing else; its certificate is for "localhost"
  };

  NatsServer() : NatsServer(Options{}) {}
  explicit NatsServer(Options options);

  /// Changes the settings; to be in force at the next start.
  void set(const std::string& settings);

  [[nodiscard]] std::string url() const;

 private:
  [[nodiscard]] std::vector<std::string> command() const override;
  bool answers() override;

  Options wanted_;
};

/// A message as it is stored.
struct NatsStored {
  std::uint64_t sequence = 0;
  std::string subject;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;

  /// "" where there is none.
  [[nodiscard]] std::string header(const std::string& name) const;
};

/// A plain client, which shares nothing with the handler but the library. Throws
/// std::runtime_error with the error of library or server.
class NatsClient {
 public:
  struct StreamOptions {
    std::int64_t messages_max = -1;
    std::int32_t message_bytes_max = -1;
    bool discard_new = false;
  };

  explicit NatsClient(const NatsServer& server);
  ~NatsClient();
  NatsClient(const NatsClient&) = delete;
  NatsClient& operator=(const NatsClient&) = delete;

  void add_stream(const std::string& stream, const std::string& subjects,
                  const StreamOptions& options);
  void add_stream(const std::string& stream, const std::string& subjects);
  void purge(const std::string& stream);
  void delete_stream(const std::string& stream);
  void publish(const std::string& subject, const std::string& body);
  std::size_t count(const std::string& stream);
  /// From now on counts what is published to these subjects, whether a stream takes it or not.
  void listen(const std::string& subjects);
  [[nodiscard]] std::size_t heard();
  /// All of them, in the order of the stream.
  std::vector<NatsStored> messages(const std::string& stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::testing

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace seriatim::testing {

class RabbitmqServer;

/// A message as a consumer gets it.
struct RabbitmqMessage {
  std::string body;
  std::string exchange;
  std::string routing_key;
  std::map<std::string, std::string> properties;             ///< "message-id", "type" …
  std::vector<std::pair<std::string, std::string>> headers;  ///< numbers as text

  /// "" where there is none.
  [[nodiscard]] std::string header(const std::string& name) const;
};

/// A plain client, which shares nothing with the handler but the library that reads the protocol.
/// Throws std::runtime_error with the server's error; then it is of no use.
class RabbitmqClient {
 public:
  using Arguments = std::vector<std::pair<std::string, std::string>>;

  explicit RabbitmqClient(const RabbitmqServer& server);
  ~RabbitmqClient();
  RabbitmqClient(const RabbitmqClient&) = delete;
  RabbitmqClient& operator=(const RabbitmqClient&) = delete;

  [[nodiscard]] static bool can_log_in(int port);

  /// Durable. Arguments that are digits go as numbers.
  void declare_queue(const std::string& queue, const Arguments& arguments = {});
  void declare_exchange(const std::string& exchange, const std::string& type);
  void bind(const std::string& queue, const std::string& exchange, const std::string& routing_key);
  void delete_queue(const std::string& queue);
  /// Messages nobody was given yet.
  std::size_t count(const std::string& queue);
  /// All of them, in the order of the queue, where they stay.
  std::vector<RabbitmqMessage> messages(const std::string& queue);
  /// Takes one away.
  void take_one(const std::string& queue);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::testing

#pragma once

#include <memory>
#include <string>
#include <vector>

namespace seriatim::testing {

/// A RabbitMQ server of its own: free ports of 127.0.0.1, a folder of its own, an Erlang port
/// mapper of its own. A start takes seconds. Ended with its processes at the end of the scope.
class RabbitmqServer {
 public:
  struct Options {
    std::string settings;  ///< further lines of rabbitmq.conf
    bool started = true;
    bool tls = false;  ///< then it speaks nothing else
  };

  RabbitmqServer();
  explicit RabbitmqServer(Options options);
  ~RabbitmqServer();
  RabbitmqServer(const RabbitmqServer&) = delete;
  RabbitmqServer& operator=(const RabbitmqServer&) = delete;

  /// On the same ports, with the data it had; returns once it answers. Nothing where it runs.
  void start();
  void stop();
  void kill();    ///< -9
  void freeze();  ///< SIGSTOP
  void thaw();

  [[nodiscard]] int port() const;
  [[nodiscard]] std::string url() const;
  /// For tls: the authority a client trusts, a PEM file.
  [[nodiscard]] std::string ca_file() const;

  [[nodiscard]] std::string log() const;
  /// rabbitmqctl with these words, on this server; takes a second. Throws with what it said where
  /// it fails.
  std::string control(std::vector<std::string> words) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::testing

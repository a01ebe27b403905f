#pragma once

#include <map>
#include <memory>
#include <string>

namespace seriatim::testing {

/// An Apache Kafka server of its own: one node that is broker and controller (KRaft), on free ports
/// of 127.0.0.1, in a folder of its own. Topics are made by `make_topic` only; messages up to 2
/// MiB. Ended by its pid at the end of the scope. It takes some seconds to start: share it.
class KafkaServer {
 public:
  static constexpr std::size_t message_bytes_max = 2 << 20;

  /// Why there is none on this machine (no Java, no Maven, no network); empty: there is. A test
  /// program that uses one is skipped then.
  [[nodiscard]] static const std::string& missing();

  KafkaServer();  ///< started
  ~KafkaServer();
  KafkaServer(const KafkaServer&) = delete;
  KafkaServer& operator=(const KafkaServer&) = delete;

  /// On the same port, with the data it had; returns once it takes messages.
  void start();
  void stop();
  void kill();    ///< -9
  void freeze();  ///< SIGSTOP
  void thaw();
  [[nodiscard]] bool runs() const;

  [[nodiscard]] std::string brokers() const;
  /// Another way to it: TLS, and user "relay" with password "open sesame" (SASL PLAIN).
  [[nodiscard]] std::string secure_brokers() const;
  [[nodiscard]] std::string ca_file() const;

  void make_topic(const std::string& name, int partitions = 1,
                  const std::map<std::string, std::string>& settings = {});
  [[nodiscard]] std::string log() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One for all cases of a program, running; each takes topics of its own.
[[nodiscard]] KafkaServer& shared_kafka_server();

}  // namespace seriatim::testing

#pragma once

#include <map>
#include <string>

#include "support/broker_server.hpp"

namespace seriatim::testing {

/// An Apache Kafka server of its own: one node that is broker and controller (KRaft). Topics are
/// made by `make_topic` only; messages up to 2 MiB. It takes some seconds to start: share it.
class KafkaServer final : public BrokerServer {
 public:
  static constexpr std::size_t message_bytes_max = 2 << 20;

  /// Why there is none on this machine (no Java, no Maven, no network); empty: there is. A test
  /// program that uses one is skipped then.
  [[nodiscard]] static const std::string& missing();

  KafkaServer();  ///< started
  ~KafkaServer() override;
  KafkaServer(const KafkaServer&) = delete;
  KafkaServer& operator=(const KafkaServer&) = delete;

  [[nodiscard]] std::string brokers() const;
  /// Another way to it: TLS, and user "relay" with password "open sesame" (SASL PLAIN).
  [[nodiscard]] std::string secure_brokers() const;

  void make_topic(const std::string& name, int partitions = 1,
                  const std::map<std::string, std::string>& settings = {});

 private:
  [[nodiscard]] std::vector<std::string> command() const override;
  bool answers() override;
  void ended() override;

  int controller_port_;
  int secure_port_;
};

/// One for all cases of a program, running; each takes topics of its own.
[[nodiscard]] KafkaServer& shared_kafka_server();

}  // namespace seriatim::testing

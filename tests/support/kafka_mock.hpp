#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace seriatim::testing {

/// librdkafka's own mock of a Kafka cluster: its brokers listen on free ports of 127.0.0.1 in a
/// thread of this process, answer as Kafka does, and can be set to err. Topics are made when they
/// are first asked for, with four partitions, unless made before.
///
/// Error codes are those of rd_kafka_resp_err_t.
class KafkaMock {
 public:
  static constexpr std::int32_t all_brokers = -1;

  explicit KafkaMock(int brokers = 1);
  ~KafkaMock();
  KafkaMock(const KafkaMock&) = delete;
  KafkaMock& operator=(const KafkaMock&) = delete;

  [[nodiscard]] std::string brokers() const;  ///< "127.0.0.1:1234,…"

  void make_topic(const std::string& topic, int partitions, int replicas = 1);
  /// What the metadata says of it.
  void topic_error(const std::string& topic, int error);
  void set_leader(const std::string& topic, std::int32_t partition, std::int32_t broker);

  /// The next requests to produce are answered so; 0: as usual.
  void refuse_produce(const std::vector<int>& errors);
  /// Of broker 1: the next requests to produce are answered so, after a while.
  void delay_produce(int error, int milliseconds, std::size_t times = 1);
  /// The next requests for a producer's number.
  void refuse_producer_id(const std::vector<int>& errors);

  void set_down(std::int32_t broker = all_brokers);
  void set_up(std::int32_t broker = all_brokers);
  void set_round_trip(int milliseconds, std::int32_t broker = all_brokers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::testing

#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "seriatim/options.hpp"
#include "support/excerpt.hpp"
#include "support/message_form.hpp"

namespace seriatim::handlers {

struct KafkaHandlerConfig {
  enum class Partitioner { murmur2, crc32 };
  using ClientProperties = std::map<std::string, std::string>;

  std::string brokers;  ///< "kafka-1:9092,kafka-2:9092"
  std::string topic;    ///< template
  MessageFormConfig form;
  Partitioner partitioner = Partitioner::murmur2;
  bool partition_by_lane = false;        ///< the lane's rows all go to one partition
  bool unknown_topic_is_poison = false;  ///< else waited for
  std::chrono::milliseconds connect_timeout{10'000};
  ClientProperties client;                ///< of librdkafka, but for those we set ourselves
  std::size_t request_bytes = 1'000'000;  ///< rows sent in one request, or one row; `batch.size`
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] KafkaHandlerConfig read_kafka_config(Options& options);

/// A record may name a topic with letters, digits, ".", "_" and "-" only, 249 of them at most.
[[nodiscard]] bool is_topic_name(const std::string& name);

/// Knows the secrets among the client's properties.
[[nodiscard]] Redactor redactor_of(const KafkaHandlerConfig& config);

}  // namespace seriatim::handlers

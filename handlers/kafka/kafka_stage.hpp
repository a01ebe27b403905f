#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kafka/kafka_handler.hpp"
#include "support/call_checks.hpp"
#include "support/handler_rows.hpp"
#include "support/kafka_mock.hpp"
#include "support/kafka_reader.hpp"

namespace seriatim::testing {

using handlers::KafkaHandler;
using handlers::KafkaHandlerConfig;
using handlers::MessageFormConfig;
using namespace std::chrono_literals;

inline constexpr const char* topic = "bookings";

/// With the topic, of one partition unless said otherwise.
class Cluster : public KafkaMock {
 public:
  explicit Cluster(int brokers = 1, int partitions = 1) : KafkaMock(brokers) {
    make_topic(topic, partitions, brokers);
  }
};

inline KafkaHandlerConfig config_for(const KafkaMock& cluster) {
  KafkaHandlerConfig config;
  config.brokers = cluster.brokers();
  config.topic = topic;
  return config;
}

/// "1-36 38 40-60", by partition and offset: runs of numbers that follow each other.
inline std::string numbers(const std::vector<KafkaMessage>& messages) {
  std::string all;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  const auto end_run = [&] {
    if (first == 0) return;
    all += (all.empty() ? "" : " ") + std::to_string(first);
    if (last > first) all += '-' + std::to_string(last);
  };
  for (const auto& message : messages) {
    const auto number = std::stoull(message.header("seriatim-sequence").value());
    if (number != last + 1 || first == 0) {
      end_run();
      first = number;
    }
    last = number;
  }
  end_run();
  return all;
}

inline std::string numbers_in(const KafkaMock& cluster, const std::string& name = topic) {
  return numbers(KafkaReader(cluster.brokers()).messages(name));
}

}  // namespace seriatim::testing

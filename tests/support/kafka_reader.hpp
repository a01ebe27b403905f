#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "seriatim/record.hpp"

namespace seriatim::testing {

/// A message as a consumer finds it.
struct KafkaMessage {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> payload;
  std::vector<Header> headers;

  /// Of the first header of that name.
  [[nodiscard]] std::optional<std::string> header(const std::string& name) const;
};

/// Reads whole topics, with a consumer of its own each; shares nothing with the handler but the
/// library that speaks the protocol. Throws std::runtime_error where the cluster does not answer
/// within 20 s.
class KafkaReader {
 public:
  explicit KafkaReader(std::string brokers) : brokers_(std::move(brokers)) {}

  /// Everything in the topic, by partition and offset.
  [[nodiscard]] std::vector<KafkaMessage> messages(const std::string& topic,
                                                   std::int32_t partitions = 1) const;
  /// How many are in partition 0.
  [[nodiscard]] std::size_t count(const std::string& topic) const;

 private:
  std::string brokers_;
};

}  // namespace seriatim::testing

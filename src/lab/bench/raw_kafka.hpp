#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace seriatim::bench {

/// librdkafka's own mock of a cluster, in threads of this process: one broker, topics of one
/// partition.
class KafkaMock {
 public:
  KafkaMock();
  ~KafkaMock();
  KafkaMock(const KafkaMock&) = delete;
  KafkaMock& operator=(const KafkaMock&) = delete;

  [[nodiscard]] std::string brokers() const;
  void make_topic(const std::string& topic);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Messages a second of a bare idempotent producer, acks=all, as many in flight as it likes; as
/// large as what the kafka handler sends for a row of the bench.
[[nodiscard]] double raw_kafka(const std::string& brokers, const std::string& topic,
                               std::uint64_t messages);

}  // namespace seriatim::bench

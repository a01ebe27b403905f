#include "support/kafka_reader.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>

namespace seriatim::testing {

namespace {

constexpr int patience_ms = 60'000;

using Client = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;

[[noreturn]] void fail(const std::string& what, rd_kafka_resp_err_t error) {
  throw std::runtime_error("Kafka reader: " + what + ": " + rd_kafka_err2str(error));
}

Client consumer_of(const std::string& brokers) {
  auto* conf = rd_kafka_conf_new();
  std::array<char, 256> why{};
  const std::array<std::pair<const char*, std::string>, 7> settings = {
      {{"bootstrap.servers", brokers},
       {"group.id", "reader"},
       {"enable.auto.commit", "false"},
       {"enable.partition.eof", "true"},
       {"fetch.wait.max.ms", "10"},
       {"check.crcs", "true"},
       {"log_level", "0"}}};
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) {
      throw std::runtime_error(why.data());
    }
  }
  Client client(rd_kafka_new(RD_KAFKA_CONSUMER, conf, why.data(), why.size()), rd_kafka_destroy);
  if (!client) throw std::runtime_error(why.data());
  rd_kafka_poll_set_consumer(client.get());
  return client;
}

std::int64_t end_of(rd_kafka_t* client, const std::string& topic, std::int32_t partition) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  const auto error =
      rd_kafka_query_watermark_offsets(client, topic.c_str(), partition, &low, &high, patience_ms);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) fail("where " + topic + " ends", error);
  return high;
}

std::optional<std::string> bytes_of(const void* data, std::size_t size) {
  if (data == nullptr) return std::nullopt;
  return std::string(static_cast<const char*>(data), size);
}

KafkaMessage message_of(const rd_kafka_message_t& found) {
  KafkaMessage message{found.partition,
                       found.offset,
                       bytes_of(found.key, found.key_len),
                       bytes_of(found.payload, found.len),
                       {}};
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&found, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return message;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    message.headers.emplace_back(name, bytes_of(value, size).value_or(""));
  }
  return message;
}

void read_partition(rd_kafka_t* client, const std::string& topic, std::int32_t partition,
                    std::vector<KafkaMessage>& into) {
  const std::unique_ptr<rd_kafka_topic_partition_list_t,
                        decltype(&rd_kafka_topic_partition_list_destroy)>
      list(rd_kafka_topic_partition_list_new(1), rd_kafka_topic_partition_list_destroy);
  rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = 0;
  rd_kafka_assign(client, list.get());
  const auto given_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  for (;;) {
    if (std::chrono::steady_clock::now() > given_up) {
      throw std::runtime_error("Kafka reader: no end of " + topic + " after " +
                               std::to_string(into.size()) + " messages");
    }
    const std::unique_ptr<rd_kafka_message_t, decltype(&rd_kafka_message_destroy)> found(
        rd_kafka_consumer_poll(client, 100), rd_kafka_message_destroy);
    if (!found) continue;
    if (found->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) break;
    if (found->err == RD_KAFKA_RESP_ERR_NO_ERROR) into.push_back(message_of(*found));
  }
  rd_kafka_assign(client, nullptr);
}

}  // namespace

std::optional<std::string> KafkaMessage::header(const std::string& name) const {
  for (const auto& [its_name, value] : headers) {
    if (its_name == name) return value;
  }
  return std::nullopt;
}

std::vector<KafkaMessage> KafkaReader::messages(const std::string& topic,
                                                std::int32_t partitions) const {
  const auto client = consumer_of(brokers_);
  std::vector<KafkaMessage> all;
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    read_partition(client.get(), topic, partition, all);
  }
  return all;
}

std::size_t KafkaReader::count(const std::string& topic) const {
  return static_cast<std::size_t>(end_of(consumer_of(brokers_).get(), topic, 0));
}

}  // namespace seriatim::testing

#include "support/kafka_mock.hpp"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <future>
#include <stdexcept>

namespace seriatim::testing {

namespace {

// Numbers of requests in Kafka's protocol.
constexpr std::int16_t produce_request = 0;
constexpr std::int16_t init_producer_id_request = 22;

void check(rd_kafka_resp_err_t error) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(std::string("Kafka mock: ") + rd_kafka_err2str(error));
  }
}

}  // namespace

struct KafkaMock::Impl {
  explicit Impl(int brokers) {
    std::array<char, 256> why{};
    auto* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", why.data(), why.size());
    client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
    if (client == nullptr) throw std::runtime_error(why.data());
    cluster = rd_kafka_mock_cluster_new(client, brokers);
    if (cluster == nullptr) throw std::runtime_error("no mock of a Kafka cluster");
  }
  ~Impl() {
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(client);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void push(std::int16_t request, const std::vector<int>& errors) const {
    std::vector<rd_kafka_resp_err_t> codes;
    for (const int error : errors) codes.push_back(static_cast<rd_kafka_resp_err_t>(error));
    rd_kafka_mock_push_request_errors_array(cluster, request, codes.size(), codes.data());
  }

  rd_kafka_t* client = nullptr;
  rd_kafka_mock_cluster_t* cluster = nullptr;
};

KafkaMock::KafkaMock(int brokers) : impl_(std::make_unique<Impl>(brokers)) {}

/// The library takes up to a second to end a cluster; no test needs to wait for it.
KafkaMock::~KafkaMock() {
  static std::vector<std::future<void>> ending;
  ending.push_back(
      std::async(std::launch::async, [impl = std::move(impl_)]() mutable { impl = {}; }));
}

std::string KafkaMock::brokers() const {
  return rd_kafka_mock_cluster_bootstraps(impl_->cluster);
}

void KafkaMock::make_topic(const std::string& topic, int partitions, int replicas) {
  check(rd_kafka_mock_topic_create(impl_->cluster, topic.c_str(), partitions, replicas));
}

void KafkaMock::topic_error(const std::string& topic, int error) {
  rd_kafka_mock_topic_set_error(impl_->cluster, topic.c_str(),
                                static_cast<rd_kafka_resp_err_t>(error));
}

void KafkaMock::set_leader(const std::string& topic, std::int32_t partition, std::int32_t broker) {
  check(rd_kafka_mock_partition_set_leader(impl_->cluster, topic.c_str(), partition, broker));
}

void KafkaMock::refuse_produce(const std::vector<int>& errors) {
  impl_->push(produce_request, errors);
}

void KafkaMock::delay_produce(int error, int milliseconds, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) {
    check(rd_kafka_mock_broker_push_request_error_rtts(impl_->cluster, 1, produce_request, 1,
                                                       static_cast<rd_kafka_resp_err_t>(error),
                                                       milliseconds));
  }
}

void KafkaMock::refuse_producer_id(const std::vector<int>& errors) {
  impl_->push(init_producer_id_request, errors);
}

void KafkaMock::set_down(std::int32_t broker) {
  check(rd_kafka_mock_broker_set_down(impl_->cluster, broker));
}

void KafkaMock::set_up(std::int32_t broker) {
  check(rd_kafka_mock_broker_set_up(impl_->cluster, broker));
}

void KafkaMock::set_round_trip(int milliseconds, std::int32_t broker) {
  check(rd_kafka_mock_broker_set_rtt(impl_->cluster, broker, milliseconds));
}

}  // namespace seriatim::testing

#include "lab/bench/raw_kafka.hpp"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <utility>

#include "lab/bench/clock.hpp"
#include "seriatim/error.hpp"

namespace seriatim::bench {

namespace {

constexpr int poll_ms = 10;
constexpr int flush_ms = 60'000;

struct Destroy {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  void operator()(rd_kafka_mock_cluster_t* cluster) const {
    rd_kafka_mock_cluster_destroy(cluster);
  }
};

rd_kafka_t* new_client(std::initializer_list<std::pair<const char*, const char*>> properties,
                       void* opaque = nullptr,
                       void (*report)(rd_kafka_t*, const rd_kafka_message_t*, void*) = nullptr) {
  std::array<char, 256> why{};
  auto* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : properties) {
    rd_kafka_conf_set(conf, name, value, why.data(), why.size());
  }
  rd_kafka_conf_set_opaque(conf, opaque);
  if (report != nullptr) rd_kafka_conf_set_dr_msg_cb(conf, report);
  auto* client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size());
  if (client == nullptr) throw Error(std::string("librdkafka: ") + why.data());
  return client;
}

/// The headers every message of the handler carries.
rd_kafka_headers_t* headers_like_ours() {
  auto* headers = rd_kafka_headers_new(5);
  for (const char* name :
       {"id", "seriatim-process", "seriatim-lane", "seriatim-sequence", "seriatim-epoch"}) {
    rd_kafka_header_add(headers, name, -1, "bench_1", 7);
  }
  return headers;
}

class Producer {
 public:
  Producer(const std::string& brokers, const std::string& topic) {
    client_.reset(new_client({{"bootstrap.servers", brokers.c_str()},
                              {"enable.idempotence", "true"},
                              {"acks", "all"},
                              {"queue.buffering.max.messages", "1000000"}},
                             this, [](rd_kafka_t*, const rd_kafka_message_t* report, void* self) {
                               static_cast<Producer*>(self)->confirmed_ +=
                                   report->err == RD_KAFKA_RESP_ERR_NO_ERROR;
                             }));
    topic_.reset(rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr));
  }

  void produce() {
    auto* headers = headers_like_ours();
    for (;;) {
      const auto said = rd_kafka_producev(
          client_.get(), RD_KAFKA_V_RKT(topic_.get()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
          RD_KAFKA_V_VALUE(value_.data(), value_.size()), RD_KAFKA_V_KEY(key_.data(), key_.size()),
          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
      if (said == RD_KAFKA_RESP_ERR_NO_ERROR) break;
      if (said != RD_KAFKA_RESP_ERR__QUEUE_FULL) throw Error(rd_kafka_err2str(said));
      rd_kafka_poll(client_.get(), poll_ms);
    }
    rd_kafka_poll(client_.get(), 0);
  }

  std::uint64_t flush() {
    rd_kafka_flush(client_.get(), flush_ms);
    return confirmed_;
  }

 private:
  std::string value_ = std::string(250, 'x');
  std::string key_ = "customer-17";
  std::uint64_t confirmed_ = 0;
  std::unique_ptr<rd_kafka_t, Destroy> client_;
  std::unique_ptr<rd_kafka_topic_t, Destroy> topic_;
};

}  // namespace

struct KafkaMock::Impl {
  std::unique_ptr<rd_kafka_t, Destroy> client{new_client({{"log_level", "0"}})};
  std::unique_ptr<rd_kafka_mock_cluster_t, Destroy> cluster{
      rd_kafka_mock_cluster_new(client.get(), 1)};
};

KafkaMock::KafkaMock() : impl_(std::make_unique<Impl>()) {
  if (impl_->cluster == nullptr) throw Error("librdkafka made no mock of a cluster");
}

KafkaMock::~KafkaMock() = default;

std::string KafkaMock::brokers() const {
  return rd_kafka_mock_cluster_bootstraps(impl_->cluster.get());
}

void KafkaMock::make_topic(const std::string& topic) {
  rd_kafka_mock_topic_create(impl_->cluster.get(), topic.c_str(), 1, 1);
}

double raw_kafka(const std::string& brokers, const std::string& topic, std::uint64_t messages) {
  Producer producer(brokers, topic);
  producer.produce();
  (void)producer.flush();  // connected, and known to the cluster
  const auto began = now_ns();
  for (std::uint64_t i = 0; i < messages; ++i) producer.produce();
  if (producer.flush() <= messages) throw Error("the mock of a cluster did not take all messages");
  return per_second(messages, now_ns() - began);
}

}  // namespace seriatim::bench

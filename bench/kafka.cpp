// The kafka handler's batch form beside librdkafka's own idempotent producer, with the same keys,
// values and headers, on the same cluster: build/PRESET/kafka_bench. The library may have five
// requests of a partition on their way, the handler has one. Figures: handlers/kafka/README.md.
#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <array>

#include "handler_rate.hpp"
#include "support/kafka_mock.hpp"
#include "support/kafka_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace seriatim {
void register_kafka(HandlerRegistry& registry);
}

namespace {

class BrokerAt final : public BrokerUnderTest {
 public:
  BrokerAt(std::string brokers, std::string topic)
      : brokers_(std::move(brokers)), topic_(std::move(topic)) {}
  const char* kind() const override { return "kafka"; }
  HandlerOptions options() const override { return {{"brokers", brokers_}, {"topic", topic_}}; }
  void start() override {}
  void stop() override {}
  void kill() override {}
  void freeze() override {}
  void thaw() override {}
  std::string refused_payload() const override { return {}; }
  std::vector<BrokerMessage> messages() override { return {}; }
  bool drops_repeats() const override { return false; }

 private:
  std::string brokers_;
  std::string topic_;
};

class RawProducer {
 public:
  RawProducer(const std::string& brokers, const std::string& topic) {
    std::array<char, 256> why{};
    auto* conf = rd_kafka_conf_new();
    for (const auto& [name, value] : {std::pair{"bootstrap.servers", brokers.c_str()},
                                      {"enable.idempotence", "true"},
                                      {"partitioner", "murmur2_random"},
                                      {"socket.nagle.disable", "true"}}) {
      REQUIRE(rd_kafka_conf_set(conf, name, value, why.data(), why.size()) == RD_KAFKA_CONF_OK);
    }
    rd_kafka_conf_set_opaque(conf, this);
    rd_kafka_conf_set_dr_msg_cb(
        conf, [](rd_kafka_t*, const rd_kafka_message_t* report, void* self) {
          static_cast<RawProducer*>(self)->confirmed_ += report->err == RD_KAFKA_RESP_ERR_NO_ERROR;
        });
    client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size()));
    topic_.reset(rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr));
  }

  void send(std::span<const Record> batch) {
    confirmed_ = 0;
    for (const auto& row : batch) produce(row);
    while (confirmed_ < batch.size()) rd_kafka_flush(client_.get(), 1'000);
  }

 private:
  void produce(const Record& row) {
    auto* headers = rd_kafka_headers_new(6);
    const auto add = [&](const char* name, const std::string& value) {
      rd_kafka_header_add(headers, name, -1, value.data(), static_cast<ssize_t>(value.size()));
    };
    add("id", row.id());
    add("event-type", *row.event_type);
    add("seriatim-process", row.process);
    add("seriatim-lane", std::to_string(row.lane));
    add("seriatim-sequence", std::to_string(row.sequence));
    add("seriatim-epoch", std::to_string(row.epoch));
    auto* value = const_cast<char*>(row.payload->data());
    REQUIRE(rd_kafka_producev(client_.get(), RD_KAFKA_V_RKT(topic_.get()),
                              RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                              RD_KAFKA_V_VALUE(value, row.payload->size()),
                              RD_KAFKA_V_KEY(row.key->data(), row.key->size()),
                              RD_KAFKA_V_HEADERS(headers),
                              RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR);
  }

  struct Destroy {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
    void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  };

  std::unique_ptr<rd_kafka_t, Destroy> client_;
  std::unique_ptr<rd_kafka_topic_t, Destroy> topic_;
  std::size_t confirmed_ = 0;
};

void compare_on(const std::string& what, const std::string& brokers, const std::string& topic) {
  for (const std::size_t payload_bytes : {200UL, 2'000UL}) {
    for (const std::size_t batch_rows : {100UL, 1'000UL}) {
      const auto handler = make_handler(register_kafka, BrokerAt(brokers, topic));
      RawProducer raw(brokers, topic);
      const auto send = [&](std::span<const Record> batch) {
        const auto deadline = std::chrono::steady_clock::now() + 10s;
        REQUIRE(handler->handle(batch, {deadline, deadline, {}}).done == batch.size());
      };
      compare(
          what.c_str(), send, [&](auto batch) { raw.send(batch); }, payload_bytes, batch_rows);
    }
  }
}

}  // namespace

TEST_CASE("kafka, the library's mock of a cluster") {
  KafkaMock cluster;
  cluster.make_topic("bench", 1);
  compare_on("mock, 1 partition", cluster.brokers(), "bench");
}

TEST_CASE("kafka, Apache Kafka, one partition") {
  if (!KafkaServer::missing().empty()) return;
  shared_kafka_server().make_topic("bench-1");
  compare_on("Kafka, 1 partition", shared_kafka_server().brokers(), "bench-1");
}

TEST_CASE("kafka, Apache Kafka, six partitions") {
  if (!KafkaServer::missing().empty()) return;
  shared_kafka_server().make_topic("bench-6", 6);
  compare_on("Kafka, 6 partitions", shared_kafka_server().brokers(), "bench-6");
}

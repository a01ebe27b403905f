// The kafka handler under the suite of all brokers, tests/contract, on a real Apache Kafka.
#include <doctest/doctest.h>

#include <set>

#include "contract/broker_under_test.hpp"
#include "seriatim/handlers.hpp"
#include "support/kafka_reader.hpp"
#include "support/kafka_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

BrokerMessage message_of(const KafkaMessage& found) {
  static const std::set<std::string> handlers_own{"id",
                                                  "event-type",
                                                  "seriatim-process",
                                                  "seriatim-lane",
                                                  "seriatim-sequence",
                                                  "seriatim-epoch"};
  BrokerMessage message{found.header("id").value(),
                        found.key,
                        found.header("event-type"),
                        found.payload,
                        {},
                        found.header("seriatim-process").value()};
  message.sequence = std::stoull(found.header("seriatim-sequence").value());
  message.epoch = std::stoull(found.header("seriatim-epoch").value());
  for (const auto& header : found.headers) {
    if (!handlers_own.contains(header.first)) message.headers.push_back(header);
  }
  return message;
}

class KafkaUnderTest final : public BrokerUnderTest {
 public:
  KafkaUnderTest() { server_.make_topic(topic_); }

  const char* kind() const override { return "kafka"; }
  HandlerOptions options() const override {
    return {{"brokers", server_.brokers()}, {"topic", topic_}};
  }
  void start() override { server_.start(); }
  void stop() override { server_.stop(); }
  void kill() override { server_.kill(); }
  void freeze() override { server_.freeze(); }
  void thaw() override { server_.thaw(); }
  std::string refused_payload() const override {
    return std::string(KafkaServer::message_bytes_max + 1, 'x');
  }
  std::vector<BrokerMessage> messages() override {
    std::vector<BrokerMessage> messages;
    for (const auto& found : reader_.messages(topic_)) messages.push_back(message_of(found));
    return messages;
  }
  std::size_t count() override { return reader_.count(topic_); }
  bool drops_repeats() const override { return false; }

 private:
  static std::string new_topic() {
    static int made = 0;
    return "rows-" + std::to_string(++made);
  }

  KafkaServer& server_ = shared_kafka_server();
  std::string topic_ = new_topic();
  KafkaReader reader_{server_.brokers()};
};

}  // namespace

TEST_CASE("kafka keeps the handler contract") {
  keep_handler_contract(handlers::register_kafka,
                        [] { return std::make_unique<KafkaUnderTest>(); });
}

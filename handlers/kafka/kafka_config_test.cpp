// What the kafka handler's table may say, and what is reported when it is wrong.
#include "kafka/kafka_config.hpp"

#include <doctest/doctest.h>

#include "seriatim/handlers.hpp"
#include "support/handler_table.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;

namespace {

Value client(const std::map<std::string, std::string>& properties) {
  auto table = std::make_shared<Options::Table>();
  for (const auto& [name, property] : properties) {
    table->values[name] = value(property);
  }
  return value(table);
}

const Values required{{"brokers", text("kafka-1.example:9092,kafka-2.example:9092")},
                      {"topic", text("bookings")}};

Read<KafkaHandlerConfig> read(Values values) {
  return read_table(read_kafka_config, std::move(values), required);
}

bool complains(const Values& values, std::string_view about) {
  return complains(read(values), about);
}

}  // namespace

TEST_CASE("a plain table needs brokers and a topic") {
  const auto [config, problems] = read({});
  CHECK(problems == "");
  CHECK(config.brokers == "kafka-1.example:9092,kafka-2.example:9092");
  CHECK(config.topic == "bookings");
  CHECK(config.form.body == MessageFormConfig::Body::payload);
  CHECK_FALSE(config.form.sends_content_type);
  CHECK(config.partitioner == KafkaHandlerConfig::Partitioner::murmur2);
  CHECK_FALSE(config.partition_by_lane);
  CHECK_FALSE(config.unknown_topic_is_poison);
  CHECK(config.connect_timeout == 10s);
  CHECK(config.client.empty());
  CHECK(config.request_bytes == 1'000'000);
  CHECK(complains({{"brokers", text("")}}, "brokers"));
  CHECK(complains({{"topic", text("")}}, "topic"));
}

TEST_CASE("every key is read") {
  const auto [config, problems] = read({{"topic", text("{{event_type}}.{{process}}")},
                                        {"body", text("cloudevents")},
                                        {"content_type", text("application/xml")},
                                        {"partitioner", text("crc32")},
                                        {"partition_by", text("lane")},
                                        {"unknown_topic", text("poison")},
                                        {"connect_timeout", text("700ms")},
                                        {"client", client({{"security.protocol", "SASL_SSL"},
                                                           {"sasl.mechanisms", "PLAIN"},
                                                           {"sasl.username", "relay"},
                                                           {"sasl.password", "canary-password"},
                                                           {"compression.type", "lz4"}})},
                                        {"request_bytes", text("50KiB")}});
  CHECK(problems == "");
  CHECK(config.topic == "{{event_type}}.{{process}}");
  CHECK(config.form.body == MessageFormConfig::Body::cloudevents);
  CHECK(config.form.content_type == "application/xml");
  CHECK(config.form.sends_content_type);
  CHECK(config.partitioner == KafkaHandlerConfig::Partitioner::crc32);
  CHECK(config.partition_by_lane);
  CHECK(config.unknown_topic_is_poison);
  CHECK(config.connect_timeout == 700ms);
  CHECK(config.client.size() == 5);
  CHECK(config.request_bytes == 50 * 1024);
  CHECK(redactor_of(config).redact("no canary-password") == "no [redacted]");
}

TEST_CASE("what the order depends on is not passed through") {
  for (const auto* name :
       {"enable.idempotence", "enable.gapless.guarantee", "acks", "request.required.acks",
        "linger.ms", "queue.buffering.max.ms", "batch.num.messages", "retries",
        "message.send.max.retries", "queuing.strategy", "transactional.id"}) {
    CHECK(complains({{"client", client({{name, "1"}})}},
                    std::string(name) + ": is set by the handler: the order"));
  }
  CHECK(complains({{"client", client({{"batch.size", "1"}})}}, "is named by request_bytes"));
  CHECK(complains({{"client", client({{"message.timeout.ms", "1"}})}}, "handler_deadline"));
  CHECK(complains({{"client", client({{"bootstrap.servers", "a:1"}})}}, "is named by brokers"));
}

TEST_CASE("what the library does not take is reported, and no secret with it") {
  CHECK(
      complains({{"client", client({{"lingers", "1"}})}}, "lingers: is no property of librdkafka"));
  CHECK(complains({{"client", client({{"socket.timeout.ms", "soon"}})}}, "socket.timeout.ms"));
  CHECK(complains({{"client", client({{"security.protocol", "SASL_PLAINTEXT"},
                                      {"sasl.mechanisms", "SCRAM-SHA-256"}})}},
                  "sasl.username"));
  CHECK(complains(
      {{"client", client({{"security.protocol", "SSL"}, {"ssl.ca.location", "/no/such/file"}})}},
      "ssl.ca.location"));
  CHECK_FALSE(complains(
      {{"client", client({{"security.protocol", "SSL"}, {"ssl.key.pem", "canary-of-a-key"}})}},
      "canary"));
  CHECK(complains({{"client", client({{"max.in.flight", "6"}})}}, "max.in.flight"));
  CHECK(complains({{"client", value(std::string("acks=all"))}}, "client"));
}

TEST_CASE("topics, forms and times that cannot be are reported with their key") {
  CHECK(complains({{"topic", text("two words")}}, "topic"));
  CHECK(complains({{"topic", text("..")}}, "topic"));
  CHECK(complains({{"topic", text("{{nosuch}}")}}, "topic"));
  CHECK(complains({{"body", text("cloud")}}, "body"));
  CHECK(complains({{"unknown_topic", text("create")}}, "unknown_topic"));
  CHECK(complains({{"partition_by", text("row")}}, "partition_by"));
  CHECK(complains({{"connect_timeout", text("0ms")}}, "connect_timeout"));
  CHECK(complains({{"request_bytes", text("0")}}, "request_bytes"));
  CHECK(complains({{"topics", text("x")}}, "topics"));
  CHECK(is_topic_name(std::string(249, 'x')));
  CHECK_FALSE(is_topic_name(std::string(250, 'x')));
  CHECK_FALSE(is_topic_name("a/b"));
  CHECK_FALSE(is_topic_name(""));
}

TEST_CASE("the kind is made for batches and makes one handler a lane, without connecting") {
  HandlerRegistry registry;
  handlers::register_kafka(registry);
  const auto* kind = registry.find("kafka");
  REQUIRE(kind != nullptr);
  CHECK(kind->takes_batches);
  Problems problems;
  Options options(table_of(required), problems);
  const auto factory = kind->configure(options);
  CHECK(problems.empty());
  CHECK(factory(0) != factory(1));
}

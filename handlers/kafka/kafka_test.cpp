// The kafka handler on librdkafka's mock of a cluster: what it leaves there. The same on a real
// Apache Kafka: kafka_contract_test.cpp.
#include "kafka/kafka_stage.hpp"

using namespace seriatim;
using namespace seriatim::testing;

TEST_CASE("a message's key and value are the record's, its headers say where it is") {
  const Cluster cluster;
  auto batch = rows(42, 44);
  batch[0].headers = {{"traceparent", "00-4bf9"}, {"id", "of the record's own"}};
  batch[0].late = true;
  batch[1].key.reset();
  batch[1].event_type.reset();
  batch[1].payload.reset();
  batch[2].key = "";
  batch[2].payload = "";
  KafkaHandler handler(config_for(cluster));
  REQUIRE(all_done(deliver(handler, batch), batch));
  const auto messages = KafkaReader(cluster.brokers()).messages(topic);
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].key == "customer-7");
  CHECK(messages[0].payload == std::string(20, 'x'));
  const std::vector<Header> headers{{"id", "row-42"},
                                    {"event-type", "booking.created"},
                                    {"seriatim-process", "bookings"},
                                    {"seriatim-lane", "0"},
                                    {"seriatim-sequence", "42"},
                                    {"seriatim-epoch", "3"},
                                    {"seriatim-late", "true"},
                                    {"traceparent", "00-4bf9"},
                                    {"id", "of the record's own"}};
  CHECK(messages[0].headers == headers);
  CHECK_FALSE(messages[1].key);
  CHECK_FALSE(messages[1].payload);  // a tombstone
  CHECK_FALSE(messages[1].header("event-type"));
  CHECK(messages[2].key == "");
  CHECK(messages[2].payload == "");
}

TEST_CASE("batches follow each other in order, whatever their size") {
  const Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  for (const auto& [first, last] : {std::pair{1U, 1U}, {2U, 500U}, {501U, 30'000U}}) {
    const auto batch = rows(first, last);
    REQUIRE(all_done(deliver(handler, batch), batch));
  }
  CHECK(numbers_in(cluster) == "1-30000");
}

TEST_CASE("a key has the partition the Java client gives it, rows without one that of the lane") {
  constexpr int partitions = 7;
  const Cluster cluster(1, partitions);
  auto config = config_for(cluster);
  // By the hashes that Kafka's own tests expect, and CRC-32; the last is of "bookings:0".
  std::vector<std::pair<std::optional<std::string>, std::int32_t>> expected;
  SUBCASE("murmur2") {
    expected = {
        {"21", 3}, {"foobar", 0}, {"a-little-bit-long-string", 1}, {"abc", 4}, {std::nullopt, 6}};
  }
  SUBCASE("crc32") {
    config.partitioner = KafkaHandlerConfig::Partitioner::crc32;
    expected = {{"21", 6}, {"foobar", 6}, {"abc", 5}, {std::nullopt, 5}};
  }
  auto batch = rows(1, expected.size());
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i].key = expected[i].first;
  constexpr std::size_t times = 4;  // so that no partition is met by chance
  for (std::size_t i = 0; i < times; ++i) {
    KafkaHandler handler(config);
    REQUIRE(all_done(deliver(handler, batch), batch));
  }
  const auto messages = KafkaReader(cluster.brokers()).messages(topic, partitions);
  CHECK(messages.size() == times * batch.size());
  for (const auto& message : messages) {
    const auto which = std::stoull(message.header("seriatim-sequence").value()) - 1;
    CAPTURE(which);
    CHECK(message.partition == expected.at(which).second);
  }
}

TEST_CASE("partitioned by lane, all rows of a lane are in one partition, in order") {
  constexpr int partitions = 7;
  const Cluster cluster(1, partitions);
  auto config = config_for(cluster);
  config.partition_by_lane = true;
  auto batch = rows(1, 200);
  for (auto& row : batch) row.key = "customer-" + std::to_string(row.sequence % 13);
  KafkaHandler handler(config);
  REQUIRE(all_done(deliver(handler, batch), batch));
  const auto messages = KafkaReader(cluster.brokers()).messages(topic, partitions);
  CHECK(numbers(messages) == "1-200");
  CHECK(messages.front().partition == messages.back().partition);
}

TEST_CASE("asked to yield, a call hands over no further row, but one") {
  const Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  const auto batch = rows(1, 100);
  const auto now = std::chrono::steady_clock::now();
  const auto outcome = handler.handle(batch, {now + 10s, now, {}});
  CHECK_FALSE(outcome.next);
  CHECK(outcome.done == 1);
  CHECK(numbers_in(cluster) == "1");
}

TEST_CASE("CloudEvents: attributes as ce_ headers next to the payload, or one envelope") {
  const Cluster cluster;
  auto config = config_for(cluster);
  config.form.sends_content_type = true;
  auto batch = rows(1, 1);
  batch[0].payload = R"({"n":1})";
  batch[0].event_type = "caf\xc3\xa9";
  SUBCASE("binary") {
    config.form.body = MessageFormConfig::Body::cloudevents;
  }
  SUBCASE("structured") {
    config.form.body = MessageFormConfig::Body::cloudevents_structured;
  }
  KafkaHandler handler(config);
  REQUIRE(all_done(deliver(handler, batch), batch));
  const auto message = KafkaReader(cluster.brokers()).messages(topic).at(0);
  if (config.form.body == MessageFormConfig::Body::cloudevents) {
    CHECK(message.payload == R"({"n":1})");
    CHECK(message.header("content-type") == "application/json");
    CHECK(message.header("ce_specversion") == "1.0");
    CHECK(message.header("ce_id") == "row-1");
    CHECK(message.header("ce_source") == "seriatim:bookings");
    CHECK(message.header("ce_type") == "caf\xc3\xa9");
    CHECK(message.header("ce_subject") == "customer-7");
  } else {
    CHECK(message.header("content-type") == "application/cloudevents+json");
    CHECK_FALSE(message.header("ce_id"));
    CHECK(message.payload->starts_with(R"({"specversion":"1.0","id":"row-1",)"));
    CHECK(message.payload->ends_with(R"("data":{"n":1}})"));
  }
  CHECK(message.header("seriatim-sequence") == "1");
}

TEST_CASE("the rendering of a row is the message that it becomes") {
  const Cluster cluster;
  auto batch = rows(42, 43);
  batch[0].headers = {{"traceparent", "00-4bf9"}, {"id", "of the record's own"}};
  batch[1].payload.reset();
  KafkaHandler handler(config_for(cluster));
  const auto shown = handler.render(batch[0]).value();
  const auto tombstone = handler.render(batch[1]).value();
  REQUIRE(all_done(deliver(handler, batch), batch));
  const auto messages = KafkaReader(cluster.brokers()).messages(topic);
  CHECK(shown.envelope == std::vector<Header>{{"topic", topic}, {"key", *messages.at(0).key}});
  CHECK(shown.headers == messages.at(0).headers);
  CHECK(shown.body == messages.at(0).payload);
  CHECK_FALSE(tombstone.body);
}

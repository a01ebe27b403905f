// The kafka handler on a real Apache Kafka: what only one of its own says.
#include <algorithm>
#include <set>

#include "kafka/kafka_stage.hpp"
#include "support/kafka_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using Kind = Outcome::Kind;

namespace {

KafkaHandlerConfig config_for(const KafkaServer& server, const std::string& name) {
  KafkaHandlerConfig config;
  config.brokers = server.brokers();
  config.topic = name;
  return config;
}

std::string numbers_in(const KafkaServer& server, const std::string& name) {
  return numbers(KafkaReader(server.brokers()).messages(name));
}

}  // namespace

TEST_CASE("Kafka: requests shrink until a topic with a small limit takes them") {
  auto& server = shared_kafka_server();
  server.make_topic("small", 1, {{"max.message.bytes", "20000"}});
  KafkaHandler handler(config_for(server, "small"));
  auto batch = rows(1, 1'000, 200);
  REQUIRE(all_done(deliver(handler, batch), batch));
  batch = rows(1'001, 1'010);
  batch[3].payload = std::string(25'000, 'x');
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 3);
  CHECK(says(outcome, "MSG_SIZE_TOO_LARGE"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(numbers_in(server, "small") == "1-1003");
}

TEST_CASE("Kafka: in a compacted topic the row without a key is found, and is poison") {
  auto& server = shared_kafka_server();
  server.make_topic("compacted", 1, {{"cleanup.policy", "compact"}});
  KafkaHandler handler(config_for(server, "compacted"));
  auto batch = rows(1, 100);
  batch[41].key.reset();
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 41);
  CHECK(says(outcome, "INVALID_RECORD"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(numbers_in(server, "compacted") == "1-41");
  const auto rest = rows(43, 100);
  REQUIRE(all_done(deliver(handler, rest), rest));
  CHECK(numbers_in(server, "compacted") == "1-41 43-100");
}

TEST_CASE("Kafka: the refused first row of a new producer is not overtaken") {
  auto& server = shared_kafka_server();
  server.make_topic("fresh");
  auto batch = rows(1, 3'000, 1'000);  // several requests
  batch[0].payload = std::string(KafkaServer::message_bytes_max + 1, 'x');
  for (int attempt = 0; attempt < 2; ++attempt) {
    KafkaHandler handler(config_for(server, "fresh"));
    const auto outcome = deliver(handler, batch);
    CHECK(outcome.done == 0);
    REQUIRE(outcome.next);
    CHECK(outcome.next->kind == Kind::poison);
  }
  CHECK(numbers_in(server, "fresh") == "");
}

TEST_CASE("Kafka: a topic that is made while it is waited for is found") {
  auto& server = shared_kafka_server();
  KafkaHandler handler(config_for(server, "made-later"));
  const auto batch = rows(1, 10);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 0);
  CHECK(says(outcome, "topic made-later: UNKNOWN_TOPIC_OR_PART"));
  CHECK(outcome.next->kind == Kind::retry_later);
  server.make_topic("made-later");
  REQUIRE(all_done(deliver(handler, batch), batch));
  CHECK(numbers_in(server, "made-later") == "1-10");
}

TEST_CASE("Kafka: keys in many partitions, each in order and without a gap") {
  constexpr int partitions = 12;
  auto& server = shared_kafka_server();
  server.make_topic("many", partitions);
  auto all = rows(1, 20'000, 100);
  for (auto& row : all) row.key = "customer-" + std::to_string(row.sequence * 7'919 % 501);
  KafkaHandler handler(config_for(server, "many"));
  for (std::size_t at = 0; at < all.size(); at += 1'000) {
    const std::vector<Record> batch(all.begin() + static_cast<std::ptrdiff_t>(at),
                                    all.begin() + static_cast<std::ptrdiff_t>(at) + 1'000);
    REQUIRE(all_done(deliver(handler, batch), batch));
  }
  const auto messages = KafkaReader(server.brokers()).messages("many", partitions);
  CHECK(messages.size() == all.size());
  std::map<std::int32_t, std::uint64_t> last_of_partition;
  std::map<std::string, std::set<std::int32_t>> partitions_of_key;
  for (const auto& message : messages) {
    const auto number = std::stoull(message.header("seriatim-sequence").value());
    REQUIRE(number > last_of_partition[message.partition]);
    last_of_partition[message.partition] = number;
    partitions_of_key[message.key.value()].insert(message.partition);
  }
  CHECK(last_of_partition.size() == partitions);
  for (const auto& [key, its] : partitions_of_key) CHECK(its.size() == 1);
}

/// A busy machine may lose a connection before the handshake; the next try says what is wrong.
BatchOutcome deliver_on_a_connection(KafkaHandler& handler, const std::vector<Record>& batch) {
  BatchOutcome outcome;
  for (int attempt = 0; attempt < 10; ++attempt) {
    outcome = deliver(handler, batch);
    const bool broken =
        outcome.next && outcome.next->reason.find("_TRANSPORT") != std::string::npos;
    if (!broken) break;
  }
  return outcome;
}

TEST_CASE("Kafka over TLS: the certificate must be trusted and the password right, never shown") {
  auto& server = shared_kafka_server();
  server.make_topic("secure");
  auto config = config_for(server, "secure");
  config.brokers = server.secure_brokers();
  config.connect_timeout = 2s;
  config.client = {{"security.protocol", "SASL_SSL"},
                   {"sasl.mechanisms", "PLAIN"},
                   {"sasl.username", "relay"},
                   {"sasl.password", "open barley"}};
  const auto batch = rows(1, 10);
  {
    KafkaHandler stranger(config);
    const auto outcome = deliver_on_a_connection(stranger, batch);
    CHECK(says(outcome, "certificate verify failed"));
    CHECK(outcome.next->kind == Kind::retry_later);
  }
  config.client["ssl.ca.location"] = server.ca_file();
  {
    KafkaHandler mistaken(config);
    const auto outcome = deliver_on_a_connection(mistaken, batch);
    CHECK(says(outcome, "Authentication failed"));
    CHECK(outcome.next->reason.find("barley") == std::string::npos);
    CHECK(outcome.next->kind == Kind::retry_later);
  }
  config.client["sasl.password"] = "open sesame";
  KafkaHandler handler(config);
  REQUIRE(all_done(deliver(handler, batch), batch));
  CHECK(numbers_in(server, "secure") == "1-10");
}

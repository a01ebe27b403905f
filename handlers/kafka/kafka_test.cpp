// The kafka handler on librdkafka's mock of a cluster: what it leaves there, and what it answers to
// whom. The same on a real Apache Kafka: kafka_contract_test.cpp.
#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <set>
#include <thread>

#include "kafka/kafka_handler.hpp"
#include "support/handler_calls.hpp"
#include "support/kafka_mock.hpp"
#include "support/kafka_reader.hpp"
#include "support/process.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;

namespace {

constexpr const char* topic = "bookings";

std::vector<Record> rows(std::uint64_t first, std::uint64_t last, std::size_t payload_bytes = 20) {
  std::vector<Record> all;
  for (auto n = first; n <= last; ++n) {
    auto record = make_record(std::string(payload_bytes, 'x'), "row-" + std::to_string(n));
    record.lane = 0;
    record.sequence = n;
    all.push_back(std::move(record));
  }
  return all;
}

/// With the topic, of one partition unless said otherwise.
class Cluster : public KafkaMock {
 public:
  explicit Cluster(int brokers = 1, int partitions = 1) : KafkaMock(brokers) {
    make_topic(topic, partitions, brokers);
  }
};

KafkaHandlerConfig config_for(const KafkaMock& cluster) {
  KafkaHandlerConfig config;
  config.brokers = cluster.brokers();
  config.topic = topic;
  return config;
}

BatchOutcome deliver(KafkaHandler& handler, const std::vector<Record>& batch,
                     std::chrono::milliseconds time = 10s) {
  return handler.handle(batch, call_within(time));
}

bool all_done(const BatchOutcome& outcome, const std::vector<Record>& batch) {
  if (outcome.next) MESSAGE(outcome.next->reason);
  return outcome.done == batch.size() && !outcome.next;
}

bool says(const BatchOutcome& outcome, const std::string& text) {
  if (!outcome.next) return false;
  CAPTURE(outcome.next->reason);
  CHECK(outcome.next->reason.find(text) != std::string::npos);
  return outcome.next->reason.find(text) != std::string::npos;
}

/// "1-36 38 40-60", by partition and offset: runs of numbers that follow each other.
std::string numbers(const std::vector<KafkaMessage>& messages) {
  std::string all;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  const auto end_run = [&] {
    if (first == 0) return;
    all += (all.empty() ? "" : " ") + std::to_string(first);
    if (last > first) all += '-' + std::to_string(last);
  };
  for (const auto& message : messages) {
    const auto number = std::stoull(message.header("seriatim-sequence").value());
    if (number != last + 1 || first == 0) {
      end_run();
      first = number;
    }
    last = number;
  }
  end_run();
  return all;
}

std::string numbers_in(const KafkaMock& cluster, const std::string& name = topic) {
  return numbers(KafkaReader(cluster.brokers()).messages(name));
}

}  // namespace

TEST_CASE("a message's key and value are the record's, its headers say where it stands") {
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
  for (const auto& [first, last] : {std::pair{1, 1}, {2, 500}, {501, 30'000}}) {
    const auto batch = rows(first, last);
    REQUIRE(all_done(deliver(handler, batch), batch));
  }
  CHECK(numbers_in(cluster) == "1-30000");
}

TEST_CASE("a cluster nobody answers at is waited for, for the time to connect") {
  Cluster cluster;
  auto config = config_for(cluster);
  config.connect_timeout = 300ms;
  cluster.set_down();
  KafkaHandler handler(config);
  const auto batch = rows(1, 10);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto began = std::chrono::steady_clock::now();
    const auto outcome = deliver(handler, batch);
    CHECK(std::chrono::steady_clock::now() - began < 2s);
    CHECK(outcome.done == 0);
    CHECK(says(outcome, cluster.brokers()));
    CHECK(outcome.next->kind == Kind::retry_later);
  }
  cluster.set_up();
  wait_until("the handler connects", [&] { return deliver(handler, batch).done == batch.size(); });
  CHECK(numbers_in(cluster) == "1-10");
}

TEST_CASE("rows that could not be sent in time are tried again, and stand there once") {
  Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  cluster.set_down();
  const auto batch = rows(11, 20);
  const auto began = std::chrono::steady_clock::now();
  const auto outcome = deliver(handler, batch, 500ms);
  CHECK(std::chrono::steady_clock::now() - began < 1500ms);
  CHECK(outcome.done == 0);
  REQUIRE(outcome.next);
  CHECK(outcome.next->kind == Kind::retry_later);
  cluster.set_up();
  wait_until("the cluster is found", [&] { return deliver(handler, batch).done == batch.size(); });
  CHECK(numbers_in(cluster) == "1-20");
}

TEST_CASE("an acknowledgement that does not come in time is unknown; the repeat is in order") {
  Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  cluster.delay_produce(RD_KAFKA_RESP_ERR_NO_ERROR, 5'000);
  const auto batch = rows(11, 20);
  const auto began = std::chrono::steady_clock::now();
  const auto outcome = deliver(handler, batch, 500ms);
  CHECK(std::chrono::steady_clock::now() - began < 1500ms);
  CHECK(outcome.done == 0);
  CHECK(says(outcome, "no acknowledgement in time"));
  CHECK(outcome.next->kind == Kind::unknown);
  REQUIRE(all_done(deliver(handler, batch), batch));
  CHECK(numbers_in(cluster) == "1-20 11-20");
}

TEST_CASE("what the cluster may get over is tried again within the call, and stands there once") {
  Cluster cluster(2);
  cluster.set_leader(topic, 0, 1);
  KafkaHandler handler(config_for(cluster));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  SUBCASE("too few replicas") {
    cluster.refuse_produce(
        {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS});
  }
  SUBCASE("a lost connection") {
    cluster.refuse_produce({RD_KAFKA_RESP_ERR__TRANSPORT});
  }
  SUBCASE("a new leader") {
    cluster.set_leader(topic, 0, 2);
  }
  const auto batch = rows(11, 500);
  REQUIRE(all_done(deliver(handler, batch), batch));
  CHECK(numbers_in(cluster) == "1-500");
}

TEST_CASE("a row that is too large is poison, and nothing overtakes it") {
  Cluster cluster;
  auto config = config_for(cluster);
  KafkaHandler handler(config);
  auto batch = rows(1, 60);
  SUBCASE("for the broker, in a request of its own") {
    batch[36].payload = std::string(1'100'000, 'x');
    cluster.refuse_produce({RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE});
  }
  SUBCASE("for the client") {
    batch[36].payload = std::string(100'000'001, 'x');
  }
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 36);
  CHECK(says(outcome, "MSG_SIZE_TOO_LARGE"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(numbers_in(cluster) == "1-36");
  const auto rest = rows(38, 60);
  REQUIRE(all_done(deliver(handler, rest), rest));
  CHECK(numbers_in(cluster) == "1-36 38-60");
}

TEST_CASE("the first row of a new producer, refused, is not overtaken either") {
  Cluster cluster;
  auto batch = rows(1, 60);
  batch[0].payload = std::string(1'100'000, 'x');
  cluster.refuse_produce({RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE});
  KafkaHandler handler(config_for(cluster));
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 0);
  REQUIRE(outcome.next);
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(numbers_in(cluster) == "");
}

TEST_CASE("a request that is too large for its topic is sent in smaller ones") {
  Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  cluster.refuse_produce(
      {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE});
  const auto batch = rows(1, 2'000, 200);
  REQUIRE(all_done(deliver(handler, batch), batch));
  CHECK(numbers_in(cluster) == "1-2000");
}

TEST_CASE("in a request that is refused the guilty row is found") {
  Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  REQUIRE(deliver(handler, rows(1, 2)).done == 2);
  // The request whole, then rows 3 and 4 alone, then row 5.
  cluster.refuse_produce({RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_NO_ERROR,
                          RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_INVALID_RECORD});
  const auto outcome = deliver(handler, rows(3, 12));
  CHECK(outcome.done == 2);
  CHECK(says(outcome, "INVALID_RECORD"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(numbers_in(cluster) == "1-4");
  const auto rest = rows(6, 12);
  REQUIRE(all_done(deliver(handler, rest), rest));
  CHECK(numbers_in(cluster) == "1-4 6-12");
}

TEST_CASE("after a fatal error the next producer resumes at the first row not confirmed") {
  Cluster cluster;
  auto config = config_for(cluster);
  config.request_bytes = 1'000;  // several requests a batch
  KafkaHandler handler(config);
  cluster.refuse_produce({RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_NO_ERROR,
                          RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER});
  const auto batch = rows(1, 100);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done > 0);
  CHECK(outcome.done < 100);
  CHECK(says(outcome, "OUT_OF_ORDER_SEQUENCE_NUMBER"));
  CHECK(outcome.next->kind == Kind::unknown);  // the broker may have it, says the client
  CHECK(numbers_in(cluster) == "1-" + std::to_string(outcome.done));
  const auto rest = rows(outcome.done + 1, 100);
  REQUIRE(all_done(deliver(handler, rest), rest));
  CHECK(numbers_in(cluster) == "1-100");
}

TEST_CASE("a producer that may not write idempotently waits for the right to") {
  Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  cluster.refuse_producer_id({RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED});
  const auto batch = rows(1, 10);
  const auto outcome = deliver(handler, batch, 5s);
  CHECK(outcome.done == 0);
  CHECK(says(outcome, "Cluster authorization failed"));
  CHECK(outcome.next->kind == Kind::retry_later);
  REQUIRE(all_done(deliver(handler, batch), batch));
  CHECK(numbers_in(cluster) == "1-10");
}

TEST_CASE("an unknown topic is waited for or poison, as configured, and nothing overtakes it") {
  Cluster cluster;
  auto config = config_for(cluster);
  config.topic = "{{event_type}}";
  cluster.make_topic("known", 1);
  cluster.make_topic("unknown", 1);
  cluster.topic_error("unknown", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  auto batch = rows(1, 6);
  for (auto& row : batch) row.event_type = "known";
  batch[3].event_type = "unknown";
  auto kind = Kind::retry_later;
  SUBCASE("waited for") {}
  SUBCASE("poison") {
    config.unknown_topic_is_poison = true;
    kind = Kind::poison;
  }
  KafkaHandler handler(config);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 3);
  CHECK(says(outcome, "topic unknown"));
  CHECK(outcome.next->kind == kind);
  CHECK(numbers_in(cluster, "known") == "1-3");
  cluster.topic_error("unknown", RD_KAFKA_RESP_ERR_NO_ERROR);
  const std::vector<Record> rest(batch.begin() + 3, batch.end());
  REQUIRE(all_done(deliver(handler, rest), rest));
  CHECK(numbers_in(cluster, "known") == "1-3 5-6");
  CHECK(numbers_in(cluster, "unknown") == "4");
}

TEST_CASE("a record that names no topic, or one no topic can have, is poison") {
  Cluster cluster;
  auto config = config_for(cluster);
  config.topic = "{{event_type}}";
  cluster.make_topic("booking.created", 1);
  auto batch = rows(1, 6);
  SUBCASE("none") {
    batch[3].event_type.reset();
  }
  SUBCASE("no name") {
    batch[3].event_type = "a/b";
  }
  KafkaHandler handler(config);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 3);
  REQUIRE(outcome.next);
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(numbers_in(cluster, "booking.created") == "1-3");
}

// The kafka handler on a mock of a cluster that errs: what it answers to whom, and what is
// stored.
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <mutex>

#include "kafka/kafka_stage.hpp"
#include "support/process.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using Kind = Outcome::Kind;

TEST_CASE("a cluster nobody answers at is waited for, for the time to connect") {
  Cluster cluster;
  auto config = config_for(cluster);
  config.connect_timeout = 300ms;
  cluster.set_down();
  std::mutex mutex;
  std::string notes;
  KafkaHandler handler(config, [&](const HandlerNote& note) {
    const std::lock_guard lock(mutex);
    notes += note.process + '/' + std::to_string(note.lane) + ' ' + note.text + '\n';
  });
  const auto batch = rows(1, 10);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto began = std::chrono::steady_clock::now();
    const auto outcome = deliver(handler, batch);
    CHECK(std::chrono::steady_clock::now() - began < 20s);
    CHECK(outcome.done == 0);
    CHECK(says(outcome, cluster.brokers()));
    CHECK(outcome.next->kind == Kind::retry_later);
  }
  cluster.set_up();
  {
    const std::lock_guard lock(mutex);
    CHECK(notes.starts_with("bookings/0 " + cluster.brokers()));
    CHECK(notes.find("Connect to ipv4#" + cluster.brokers()) != std::string::npos);
  }
  wait_until("the handler connects", [&] { return deliver(handler, batch).done == batch.size(); });
  CHECK(numbers_in(cluster) == "1-10");
}

TEST_CASE("rows that could not be sent in time are tried again, and are there once") {
  Cluster cluster;
  KafkaHandler handler(config_for(cluster));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  cluster.set_down();
  const auto batch = rows(11, 20);
  const auto began = std::chrono::steady_clock::now();
  const auto outcome = deliver(handler, batch, 500ms);
  CHECK(std::chrono::steady_clock::now() - began < 20s);
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
  CHECK(std::chrono::steady_clock::now() - began < 20s);
  CHECK(outcome.done == 0);
  CHECK(says(outcome, "no acknowledgement in time"));
  CHECK(outcome.next->kind == Kind::unknown);
  REQUIRE(all_done(deliver(handler, batch), batch));
  CHECK(numbers_in(cluster) == "1-20 11-20");
}

TEST_CASE("what the cluster may get over is tried again within the call, and is there once") {
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
    batch[36].payload->resize(100'000'001);
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
  const auto outcome = deliver(handler, batch, 20s);
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

namespace {

/// Two partitions led by two brokers; of keys "21" and "abc", who are in one each.
class TwoBrokers : public Cluster {
 public:
  TwoBrokers() : Cluster(2, 2) {
    set_leader(topic, 0, 1);
    set_leader(topic, 1, 2);
  }
  /// Odd rows in partition 0, even ones in partition 1.
  static std::vector<Record> batch(std::uint64_t first, std::uint64_t last) {
    auto all = rows(first, last);
    for (auto& row : all) row.key = row.sequence % 2 == 1 ? "21" : "abc";
    return all;
  }
  [[nodiscard]] std::string numbers_in(std::int32_t partition) const {
    auto messages = KafkaReader(brokers()).messages(topic, 2);
    std::erase_if(messages, [&](const auto& message) { return message.partition != partition; });
    std::string all;
    for (const auto& message : messages) all += *message.header("seriatim-sequence") + ' ';
    return all;
  }
};

}  // namespace

TEST_CASE("rows confirmed in another partition behind one that failed are not sent again") {
  TwoBrokers cluster;
  KafkaHandler handler(config_for(cluster));
  REQUIRE(deliver(handler, TwoBrokers::batch(1, 4)).done == 4);
  // Broker 1 refuses; broker 2 has taken its request before, or has not and it is taken back.
  cluster.delay_produce(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 200);
  const auto batch = TwoBrokers::batch(5, 10);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 0);
  CHECK(says(outcome, "TOPIC_AUTHORIZATION_FAILED"));
  CHECK(outcome.next->kind == Kind::retry_later);
  CHECK(cluster.numbers_in(0) == "1 3 ");
  CHECK(cluster.numbers_in(1) == "2 4 6 8 10 ");
  SUBCASE("at the next try") {
    REQUIRE(all_done(deliver(handler, batch), batch));
    CHECK(cluster.numbers_in(0) == "1 3 5 7 9 ");
    CHECK(cluster.numbers_in(1) == "2 4 6 8 10 ");
  }
  SUBCASE("when the row that failed is set aside") {
    const auto rest = TwoBrokers::batch(6, 12);
    REQUIRE(all_done(deliver(handler, rest), rest));
    CHECK(cluster.numbers_in(0) == "1 3 7 9 11 ");
    CHECK(cluster.numbers_in(1) == "2 4 6 8 10 12 ");
  }
  SUBCASE("but when the process is rewound") {
    const auto again = TwoBrokers::batch(3, 10);
    REQUIRE(all_done(deliver(handler, again), again));
    CHECK(cluster.numbers_in(1) == "2 4 6 8 10 4 6 8 10 ");
  }
  SUBCASE("but by another holder") {
    auto again = batch;
    for (auto& row : again) row.epoch += 1;
    REQUIRE(all_done(deliver(handler, again), again));
    CHECK(cluster.numbers_in(1) == "2 4 6 8 10 6 8 10 ");
  }
}

TEST_CASE("a refusal is reported for its own row only, when those before it are there") {
  TwoBrokers cluster;
  KafkaHandler handler(config_for(cluster));
  REQUIRE(deliver(handler, TwoBrokers::batch(1, 4)).done == 4);
  // Row 6, of broker 1 here, is refused; row 5, of broker 2, is slow and may be taken back.
  auto batch = TwoBrokers::batch(5, 6);
  std::swap(batch[0].key, batch[1].key);
  cluster.delay_produce(RD_KAFKA_RESP_ERR_POLICY_VIOLATION, 0, 2);
  cluster.set_round_trip(100, 2);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 1);
  CHECK(says(outcome, "POLICY_VIOLATION"));
  CHECK(outcome.next->kind == Kind::poison);
}

#include "support/kafka_server.hpp"

#include <librdkafka/rdkafka.h>

#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "lab/process/free_port.hpp"
#include "support/skip.hpp"

namespace seriatim::testing {

namespace fs = std::filesystem;

namespace {

const Need need([] {
  const auto& why = KafkaServer::missing();
  return why.empty() ? why : "there is no Apache Kafka here: " + why;
});

constexpr int answer_ms = 20'000;

struct Jars {
  std::string folder;
  std::string missing;
};

const Jars& jars() {
  static const Jars found = [] {
    const auto fetched = lab::run({SERIATIM_SOURCE_DIR "/tests/fetch-kafka"});
    auto text = fetched.code == 0 ? fetched.out : fetched.err;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return fetched.code == 0 ? Jars{text, ""} : Jars{"", text.empty() ? "no reason given" : text};
  }();
  return found;
}

using Client = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;

Client client_of(const std::string& brokers) {
  std::array<char, 256> why{};
  auto* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), why.data(), why.size());
  rd_kafka_conf_set(conf, "log_level", "0", why.data(), why.size());
  Client client(rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size()), rd_kafka_destroy);
  if (!client) throw std::runtime_error(why.data());
  return client;
}

/// Every partition has a leader, and that topic, unless "", is there.
bool is_ready(rd_kafka_t* client, const std::string& name = "") {
  const struct rd_kafka_metadata* metadata = nullptr;
  if (rd_kafka_metadata(client, 1, nullptr, &metadata, 500) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return false;
  }
  bool ready = metadata->broker_cnt > 0;
  bool found = name.empty();
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const auto& topic = metadata->topics[i];
    found |= topic.topic == name;
    for (int n = 0; n < topic.partition_cnt; ++n) ready &= topic.partitions[n].leader >= 0;
  }
  rd_kafka_metadata_destroy(metadata);
  return ready && found;
}

/// Classes as they are in memory, kept at the first stop: from then on a start takes half the time.
fs::path classes() {
  return jars().folder + "/classes.jsa";
}

std::string loopback(int port) {
  return "127.0.0.1:" + std::to_string(port);
}

}  // namespace

const std::string& KafkaServer::missing() {
  return jars().missing;
}

KafkaServer::KafkaServer()
    : BrokerServer({.name = "Kafka", .account = {}}),
      controller_port_(lab::free_port()),
      secure_port_(lab::free_port()) {
  // A fresh storage folder needs no more than its name; the formatting tool would take seconds.
  write("data/meta.properties",
        "version=1\nnode.id=1\ncluster.id=c2VyaWF0aW0tdGVzdHMtMQ\n"
        "directory.id=c2VyaWF0aW0tdGVzdHMtMg\n");
  const CertificateAuthority authority;
  const auto own = authority.issue({{}, {"127.0.0.1"}});
  write("ca.pem", authority.certificate());
  write("own.pem", own.key + own.certificate);
  const auto controller = loopback(controller_port_);
  write("server.properties",
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@" + controller +
            "\nlisteners=PLAINTEXT://" + brokers() + ",SECURE://" + secure_brokers() +
            ",CONTROLLER://" + controller + "\nadvertised.listeners=PLAINTEXT://" + brokers() +
            ",SECURE://" + secure_brokers() +
            "\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SECURE:SASL_SSL\nsasl.enabled.mechanisms=PLAIN\n"
            "listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain."
            "PlainLoginModule required user_relay=\"open sesame\";\n"
            "listener.name.secure.ssl.keystore.type=PEM\n"
            "listener.name.secure.ssl.keystore.location=" +
            file("own.pem").string() + "\ncontroller.listener.names=CONTROLLER\nlog.dirs=" +
            file("data").string() + "\nmessage.max.bytes=" + std::to_string(message_bytes_max) +
            "\nauto.create.topics.enable=false\noffsets.topic.replication.factor=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            // After a kill -9 the controller waits for so long before it takes the broker back.
            "broker.session.timeout.ms=1000\nbroker.heartbeat.interval.ms=200\n"
            "num.network.threads=2\nnum.io.threads=2\nlog.cleaner.enable=false\n");
  write("log4j.properties",
        "log4j.rootLogger=INFO, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.out.layout.ConversionPattern=%d %p %m%n\n");
  start();
}

KafkaServer::~KafkaServer() {
  kill();
}

std::vector<std::string> KafkaServer::command() const {
  return {"java",
          "-Xmx384m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          fs::exists(classes()) ? "-XX:SharedArchiveFile=" + classes().string()
                                : "-XX:ArchiveClassesAtExit=" + file("classes").string(),
          "-Dlog4j.configuration=file:" + file("log4j.properties").string(),
          "-cp",
          jars().folder + "/*",
          "kafka.Kafka",
          file("server.properties").string()};
}

bool KafkaServer::answers() {
  return is_ready(client_of(brokers()).get());
}

void KafkaServer::ended() {
  std::error_code taken;  // by another test, with the same
  if (!fs::exists(file("classes")) || fs::exists(classes())) return;
  const auto whole = classes().string() + '.' + std::to_string(port());
  fs::copy_file(file("classes"), whole, taken);
  fs::rename(whole, classes(), taken);
}

std::string KafkaServer::brokers() const {
  return loopback(port());
}

std::string KafkaServer::secure_brokers() const {
  return loopback(secure_port_);
}

void KafkaServer::make_topic(const std::string& name, int partitions,
                             const std::map<std::string, std::string>& settings) {
  const auto client = client_of(brokers());
  std::array<char, 256> why{};
  std::unique_ptr<rd_kafka_NewTopic_t, decltype(&rd_kafka_NewTopic_destroy)> wish(
      rd_kafka_NewTopic_new(name.c_str(), partitions, 1, why.data(), why.size()),
      rd_kafka_NewTopic_destroy);
  for (const auto& [setting, value] : settings) {
    rd_kafka_NewTopic_set_config(wish.get(), setting.c_str(), value.c_str());
  }
  const std::unique_ptr<rd_kafka_queue_t, decltype(&rd_kafka_queue_destroy)> queue(
      rd_kafka_queue_new(client.get()), rd_kafka_queue_destroy);
  auto* wishes = wish.get();
  rd_kafka_CreateTopics(client.get(), &wishes, 1, nullptr, queue.get());
  const std::unique_ptr<rd_kafka_event_t, decltype(&rd_kafka_event_destroy)> event(
      rd_kafka_queue_poll(queue.get(), answer_ms), rd_kafka_event_destroy);
  if (!event) throw std::runtime_error("Kafka makes no topic: " + log());
  std::size_t count = 0;
  const auto* const* made =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  if (count != 1 || rd_kafka_topic_result_error(made[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error("Kafka makes no topic " + name);
  }
  lab::wait_until("the topic has leaders", [&] { return is_ready(client.get(), name); });
}

KafkaServer& shared_kafka_server() {
  static KafkaServer one;
  one.start();
  one.thaw();
  return one;
}

}  // namespace seriatim::testing

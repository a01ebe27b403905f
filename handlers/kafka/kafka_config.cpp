#include "kafka/kafka_config.hpp"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "kafka/kafka_producer.hpp"
#include "support/cannot_render.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

namespace {

struct Reserved {
  const char* property;
  const char* why;
};

constexpr const char* keeps_order = "is set by the handler: the order of the rows depends on it";

constexpr std::array<Reserved, 24> reserved = {{
    {"bootstrap.servers", "is named by brokers"},
    {"metadata.broker.list", "is named by brokers"},
    {"enable.idempotence", keeps_order},
    {"enable.gapless.guarantee", keeps_order},
    {"acks", keeps_order},
    {"request.required.acks", keeps_order},
    {"linger.ms", keeps_order},
    {"queue.buffering.max.ms", keeps_order},
    {"retries", keeps_order},
    {"message.send.max.retries", keeps_order},
    {"queuing.strategy", keeps_order},
    {"transactional.id", keeps_order},
    {"batch.num.messages", keeps_order},
    {"sticky.partitioning.linger.ms", keeps_order},
    {"batch.size", "is named by request_bytes"},
    {"message.timeout.ms", "is the process's handler_deadline"},
    {"delivery.timeout.ms", "is the process's handler_deadline"},
    {"partitioner", "is named by partitioner, outside of client"},
    {"queue.buffering.max.messages", "is set by the handler, which bounds what it queues"},
    {"queue.buffering.max.kbytes", "is set by the handler, which bounds what it queues"},
    {"delivery.report.only.error", "is set by the handler: reports confirm the rows"},
    {"statistics.interval.ms", "is of no use here: nobody reads them"},
    {"log.queue", "is set by the handler"},
    {"log_level", "is set by the handler"},
}};

constexpr std::array<std::string_view, 7> secret_properties = {"sasl.password",
                                                               "ssl.key.password",
                                                               "ssl.keystore.password",
                                                               "ssl.key.pem",
                                                               "ssl_key",
                                                               "sasl.oauthbearer.client.secret",
                                                               "sasl.oauthbearer.config"};

bool is_secret(std::string_view property) {
  return std::find(secret_properties.begin(), secret_properties.end(), property) !=
         secret_properties.end();
}

using Conf = std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)>;

/// Why the library does not take it; empty: it does.
std::string refusal(const std::string& name, const std::string& value) {
  const auto* found = std::find_if(reserved.begin(), reserved.end(),
                                   [&](const Reserved& one) { return name == one.property; });
  if (found != reserved.end()) return found->why;
  const Conf conf(rd_kafka_conf_new(), rd_kafka_conf_destroy);
  std::array<char, 512> why{};
  switch (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), why.data(), why.size())) {
    case RD_KAFKA_CONF_OK: return "";
    case RD_KAFKA_CONF_UNKNOWN: return "is no property of librdkafka";
    case RD_KAFKA_CONF_INVALID: break;
  }
  return is_secret(name) ? "is not valid" : excerpt(why.data());
}

/// Kerberos and OAuth fetch their tickets as soon as there is a client.
bool logs_in_at_once(const KafkaHandlerConfig::ClientProperties& client) {
  const auto has = [&](const char* name, const char* text) {
    const auto found = client.find(name);
    return found != client.end() && found->second.find(text) != std::string::npos;
  };
  const bool sasl = has("security.protocol", "sasl") || has("security.protocol", "SASL");
  const bool plainly = has("sasl.mechanisms", "PLAIN") || has("sasl.mechanism", "PLAIN") ||
                       has("sasl.mechanisms", "SCRAM") || has("sasl.mechanism", "SCRAM");
  return sasl && !plainly;
}

void read_client(Options& options, KafkaHandlerConfig& config) {
  bool valid = true;
  for (const auto& [name, value] : options.text_table("client")) {
    const auto why = refusal(name, value);
    if (why.empty()) {
      config.client.emplace(name, value);
    } else {
      options.problem("client", name + ": " + why);
      valid = false;
    }
  }
  if (!valid || logs_in_at_once(config.client)) return;
  const auto problem = KafkaProducer::problem_with(config);
  if (!problem.empty()) options.problem("client", excerpt(redactor_of(config).redact(problem)));
}

void read_topic(Options& options, KafkaHandlerConfig& config) {
  config.topic = options.required_text("topic");
  try {
    const Template topic(config.topic, Escaping::none);
    if (!config.topic.empty() && topic.is_constant() && !is_topic_name(config.topic)) {
      options.problem("topic", "must be letters, digits, \".\", \"_\" and \"-\", 249 at most");
    }
  } catch (const CannotRender& e) {
    options.problem("topic", e.what());
  }
  config.unknown_topic_is_poison = options.choice("unknown_topic", 0, {"retry", "poison"}) == 1;
}

void read_partitions(Options& options, KafkaHandlerConfig& config) {
  using Partitioner = KafkaHandlerConfig::Partitioner;
  config.partition_by_lane = options.choice("partition_by", 0, {"key", "lane"}) == 1;
  config.partitioner = options.choice("partitioner", 0, {"murmur2", "crc32"}) == 1
                           ? Partitioner::crc32
                           : Partitioner::murmur2;
}

}  // namespace

KafkaHandlerConfig read_kafka_config(Options& options) {
  KafkaHandlerConfig config;
  config.brokers = options.required_text("brokers");
  read_topic(options, config);
  config.form = read_message_form(options);
  read_partitions(options, config);
  config.connect_timeout = options.duration("connect_timeout", config.connect_timeout);
  if (config.connect_timeout <= std::chrono::milliseconds{0}) {
    options.problem("connect_timeout", "must be at least 1ms");
  }
  config.request_bytes = options.bytes("request_bytes", config.request_bytes);
  if (config.request_bytes == 0) options.problem("request_bytes", "must be at least 1");
  read_client(options, config);
  return config;
}

bool is_topic_name(const std::string& name) {
  constexpr std::size_t bytes_max = 249;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= bytes_max && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), fits);
}

Redactor redactor_of(const KafkaHandlerConfig& config) {
  Redactor redactor;
  for (const auto& [name, value] : config.client) {
    if (is_secret(name)) redactor.add(value);
  }
  return redactor;
}

}  // namespace seriatim::handlers

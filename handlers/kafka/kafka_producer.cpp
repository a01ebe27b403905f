#include "kafka/kafka_producer.hpp"

#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include "kafka/kafka_headers.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;
using Clock = KafkaProducer::Clock;
using Properties = KafkaHandlerConfig::ClientProperties;

constexpr milliseconds slice{10};
constexpr milliseconds topic_pause{50};
// A topic the broker makes on demand is there some moments after it was asked for.
constexpr milliseconds topic_patience{2'000};

// What the configuration may change.
const Properties& usual_properties() {
  static const Properties properties{
      {"client.id", "seriatim"},
      {"socket.nagle.disable", "true"},
      {"socket.keepalive.enable", "true"},
      {"reconnect.backoff.max.ms", "1000"},
      {"log.connection.close", "false"},
      // Of a row; the broker's own limit is below its limit of a request, 100 MiB.
      {"message.max.bytes", "100000000"},
  };
  return properties;
}

// What the order of the rows depends on.
const Properties& fixed_properties() {
  static const Properties properties{
      {"enable.idempotence", "true"},
      // A refused request stops all that was not sent yet, of other partitions too.
      {"enable.gapless.guarantee", "true"},
      // One request a partition: sent when it is flushed, not when there is enough or it is late.
      {"linger.ms", "900000"},
      {"batch.size", "2147483647"},
      {"batch.num.messages", "1000000"},
      // Else rows without a key go where the library likes, whatever our partitioner says.
      {"sticky.partitioning.linger.ms", "0"},
      // The call's deadline ends all at once: one that ended alone would be overtaken.
      {"message.timeout.ms", "0"},
      {"queue.buffering.max.messages", "0"},
      {"queue.buffering.max.kbytes", "2147483647"},
      {"log.thread.name", "false"},
      {"log_level", "4"},
  };
  return properties;
}

int left_ms(Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

void set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, 256> why{};
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why.data(), why.size()) !=
      RD_KAFKA_CONF_OK) {
    throw CannotRender("librdkafka does not take " + name);
  }
}

std::int32_t partition_of(const rd_kafka_topic_t* topic, KafkaHandlerConfig::Partitioner kind,
                          std::string_view key, std::int32_t count) {
  const auto hash = kind == KafkaHandlerConfig::Partitioner::crc32
                        ? rd_kafka_msg_partitioner_consistent
                        : rd_kafka_msg_partitioner_murmur2;
  return hash(topic, key.data(), key.size(), count, nullptr, nullptr);
}

}  // namespace

class KafkaProducer::Impl {
 public:
  Impl(const KafkaHandlerConfig& config, std::string lane, Complaints complaints);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int find_topic(const std::string& name, Clock::time_point until);
  KafkaRequest request_of(const std::string& name, const Record& record) const;
  int produce(std::size_t index, const Message& message);

  rd_kafka_t* client = nullptr;
  std::vector<Delivery> deliveries;  ///< stay where they are while a report is awaited
  std::size_t unreported = 0;
  bool failed = false;

  /// The client gives up in one of its own threads, and says why only when it is served next.
  std::string complaint() const {
    {
      const std::lock_guard lock(complaint_mutex_);
      if (!complaint_.empty()) return complaint_;
    }
    std::array<char, 512> reason{};
    const auto given_up = rd_kafka_fatal_error(client, reason.data(), reason.size());
    return given_up == RD_KAFKA_RESP_ERR_NO_ERROR ? std::string() : reason.data();
  }

 private:
  void configure(rd_kafka_conf_t* conf);
  struct Topic {
    rd_kafka_topic_t* handle = nullptr;
    std::int32_t partitions = 1;
  };

  rd_kafka_topic_t* open_topic(const std::string& name);
  static int ask_for(rd_kafka_t* client, Topic& topic, Clock::time_point until);
  void note(const rd_kafka_message_t& report);
  void complain(const char* text);

  static void on_report(rd_kafka_t*, const rd_kafka_message_t* report, void* self) {
    static_cast<Impl*>(self)->note(*report);
  }
  static void on_log(const rd_kafka_t* client, int, const char* kind, const char* text) {
    if (std::string_view(kind) == "CONFWARN") return;  // of properties that are ours
    static_cast<Impl*>(rd_kafka_opaque(client))->complain(text);
  }
  static std::int32_t on_partition(const rd_kafka_topic_t* topic, const void* key,
                                   std::size_t key_bytes, std::int32_t count, void* self, void*) {
    return static_cast<const Impl*>(self)->partition_for(topic, key, key_bytes, count);
  }
  std::int32_t partition_for(const rd_kafka_topic_t* topic, const void* key, std::size_t key_bytes,
                             std::int32_t count) const {
    const bool by_key = key != nullptr && !config_.partition_by_lane;
    const std::string_view text(static_cast<const char*>(key), by_key ? key_bytes : 0);
    return partition_of(topic, config_.partitioner, by_key ? text : lane_, count);
  }

  const KafkaHandlerConfig config_;
  const std::string lane_;
  const Complaints complaints_;
  std::map<std::string, Topic> topics_;
  mutable std::mutex complaint_mutex_;
  std::string complaint_;
};

KafkaProducer::Impl::Impl(const KafkaHandlerConfig& config, std::string lane, Complaints complaints)
    : config_(config), lane_(std::move(lane)), complaints_(std::move(complaints)) {
  std::unique_ptr<rd_kafka_conf_t, decltype(&rd_kafka_conf_destroy)> conf(rd_kafka_conf_new(),
                                                                          rd_kafka_conf_destroy);
  configure(conf.get());
  std::array<char, 512> why{};
  client = rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), why.data(), why.size());
  if (client == nullptr) throw CannotRender(std::string("librdkafka: ") + why.data());
  (void)conf.release();  // the client's now
}

void KafkaProducer::Impl::configure(rd_kafka_conf_t* conf) {
  for (const auto& [name, value] : usual_properties()) set(conf, name, value);
  for (const auto& [name, value] : config_.client) set(conf, name, value);
  for (const auto& [name, value] : fixed_properties()) set(conf, name, value);
  if (!config_.brokers.empty()) set(conf, "bootstrap.servers", config_.brokers);
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_dr_msg_cb(conf, on_report);
  rd_kafka_conf_set_log_cb(conf, on_log);
}

KafkaProducer::Impl::~Impl() {
  for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic.handle);
  if (client != nullptr) rd_kafka_destroy(client);
}

rd_kafka_topic_t* KafkaProducer::Impl::open_topic(const std::string& name) {
  auto* conf = rd_kafka_default_topic_conf_dup(client);
  rd_kafka_topic_conf_set_opaque(conf, this);
  rd_kafka_topic_conf_set_partitioner_cb(conf, on_partition);
  return rd_kafka_topic_new(client, name.c_str(), conf);  // frees conf on success
}

int KafkaProducer::Impl::ask_for(rd_kafka_t* client, Topic& topic, Clock::time_point until) {
  const rd_kafka_metadata_t* metadata = nullptr;
  const auto error = rd_kafka_metadata(client, 0, topic.handle, &metadata, left_ms(until));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
  auto found = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
  if (metadata->topic_cnt == 1) {
    found = metadata->topics[0].err;
    topic.partitions = std::max(metadata->topics[0].partition_cnt, 1);
  }
  rd_kafka_metadata_destroy(metadata);
  return found;
}

int KafkaProducer::Impl::find_topic(const std::string& name, Clock::time_point until) {
  if (topics_.contains(name)) return 0;
  Topic topic{open_topic(name)};
  if (topic.handle == nullptr) return rd_kafka_last_error();
  const auto given_up = std::min(until, Clock::now() + topic_patience);
  int error = ask_for(client, topic, until);
  const auto is_being_made = [&] {
    return error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
           error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
  };
  while (is_being_made() && Clock::now() + topic_pause < given_up) {
    std::this_thread::sleep_for(topic_pause);
    error = ask_for(client, topic, until);
  }
  if (error == 0) {
    topics_.emplace(name, topic);
  } else {
    rd_kafka_topic_destroy(topic.handle);
  }
  return error;
}

KafkaRequest KafkaProducer::Impl::request_of(const std::string& name, const Record& record) const {
  const auto& topic = topics_.at(name);
  const auto partition = record.key ? partition_for(topic.handle, record.key->data(),
                                                    record.key->size(), topic.partitions)
                                    : partition_for(topic.handle, nullptr, 0, topic.partitions);
  return {topic.handle, partition};
}

int KafkaProducer::Impl::produce(std::size_t index, const Message& message) {
  auto& delivery = deliveries.at(index);
  const auto& record = message.record;
  auto* headers = rd_kafka_headers_new(8 + record.headers.size());
  add_headers(record, message.form, message.with_content_type,
              [&](std::string_view name, std::string_view value) {
                rd_kafka_header_add(headers, name.data(), static_cast<ssize_t>(name.size()),
                                    value.data(), static_cast<ssize_t>(value.size()));
              });
  const auto body = message.body.value_or(std::string_view());
  const void* bytes = message.body ? body.data() : nullptr;
  const void* key = record.key ? record.key->data() : nullptr;
  const std::size_t key_bytes = record.key ? record.key->size() : 0;
  const auto error = rd_kafka_producev(client, RD_KAFKA_V_RKT(topics_.at(message.topic).handle),
                                       RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                       RD_KAFKA_V_VALUE(const_cast<void*>(bytes), body.size()),
                                       RD_KAFKA_V_KEY(key, key_bytes), RD_KAFKA_V_HEADERS(headers),
                                       RD_KAFKA_V_OPAQUE(&delivery), RD_KAFKA_V_END);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    rd_kafka_headers_destroy(headers);
    return error;
  }
  delivery.fate = Delivery::Fate::in_doubt;
  unreported += 1;
  return error;
}

void KafkaProducer::Impl::note(const rd_kafka_message_t& report) {
  auto& delivery = *static_cast<Delivery*>(report._private);
  unreported -= 1;
  delivery.error = report.err;
  delivery.request = {report.rkt, report.partition};
  const auto status = rd_kafka_message_status(&report);
  if (report.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    delivery.fate = Delivery::Fate::confirmed;
    return;
  }
  failed = true;
  delivery.fate = status == RD_KAFKA_MSG_STATUS_NOT_PERSISTED ? Delivery::Fate::not_sent
                                                              : Delivery::Fate::in_doubt;
}

void KafkaProducer::Impl::complain(const char* text) {
  const std::string_view said(text);
  if (said.find("brokers are down") != said.npos) return;  // the reason came before
  {
    const std::lock_guard lock(complaint_mutex_);
    complaint_ = said;
  }
  if (complaints_) complaints_(text);
}

KafkaProducer::KafkaProducer(const KafkaHandlerConfig& config, std::string lane,
                             Complaints complaints)
    : impl_(std::make_unique<Impl>(config, std::move(lane), std::move(complaints))) {}
KafkaProducer::~KafkaProducer() = default;

std::string KafkaProducer::problem_with(KafkaHandlerConfig config) {
  config.brokers.clear();
  try {
    (void)KafkaProducer(config, {}, {});
  } catch (const CannotRender& e) {
    return e.what();
  }
  return {};
}

int KafkaProducer::find_topic(const std::string& topic, Clock::time_point until) {
  return impl_->find_topic(topic, until);
}

void KafkaProducer::expect(std::size_t count) {
  impl_->deliveries.assign(count, {});
}

KafkaRequest KafkaProducer::request_of(const std::string& topic, const Record& record) const {
  return impl_->request_of(topic, record);
}

int KafkaProducer::produce(std::size_t index, const Message& message) {
  return impl_->produce(index, message);
}

void KafkaProducer::serve(Clock::time_point until) {
  rd_kafka_flush(impl_->client, std::min(left_ms(until), static_cast<int>(slice.count())));
}

void KafkaProducer::purge(bool sent_too) {
  rd_kafka_purge(impl_->client, RD_KAFKA_PURGE_F_NON_BLOCKING | RD_KAFKA_PURGE_F_QUEUE |
                                    (sent_too ? RD_KAFKA_PURGE_F_INFLIGHT : 0));
}

const std::vector<Delivery>& KafkaProducer::deliveries() const {
  return impl_->deliveries;
}
std::size_t KafkaProducer::unreported() const {
  return impl_->unreported;
}
bool KafkaProducer::failed() const {
  return impl_->failed || rd_kafka_fatal_error(impl_->client, nullptr, 0) != 0;
}
std::string KafkaProducer::last_complaint() const {
  return impl_->complaint();
}

}  // namespace seriatim::handlers

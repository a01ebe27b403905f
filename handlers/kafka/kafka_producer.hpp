#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kafka/kafka_config.hpp"
#include "seriatim/record.hpp"

namespace seriatim::handlers {

/// Topic and partition: rows of a round that go to one partition go out in one request.
using KafkaRequest = std::pair<const void*, std::int32_t>;

/// What became of one message.
struct Delivery {
  enum class Fate : unsigned char {
    none,       ///< not handed over
    confirmed,  ///< in the log of every replica that is in sync
    not_sent,   ///< it is in no log
    in_doubt,   ///< it may have been sent, and was not acknowledged
  };
  Fate fate = Fate::none;
  int error = 0;  ///< rd_kafka_resp_err_t
  KafkaRequest request{nullptr, -1};

  [[nodiscard]] bool fared_like(const Delivery& other) const {
    return error == other.error && request == other.request;
  }
};

/// One life of librdkafka's idempotent producer. After the first failure it is of no more use:
/// purge it, then let it go, and make the next one when it is gone.
///
/// Order: nothing is sent before `serve`; then what was produced goes out, one request a partition,
/// and is there as a whole, in order, or not at all. Whoever produces more only when all of it
/// is reported never has a row of a partition on its way behind one that may be refused.
/// Threads: reports come in `serve`, on the caller's.
class KafkaProducer {
 public:
  using Clock = std::chrono::steady_clock;

  /// What the library complains about: foreign text, on any thread.
  using Complaints = std::function<void(const std::string&)>;

  /// `lane` names the lane among all that write the topics. Throws CannotRender for properties
  /// the library does not take together.
  KafkaProducer(const KafkaHandlerConfig& config, std::string lane, Complaints complaints);
  ~KafkaProducer();  ///< what is not acknowledged is forgotten; may take a name's resolution
  KafkaProducer(const KafkaProducer&) = delete;
  KafkaProducer& operator=(const KafkaProducer&) = delete;

  /// Why the library takes no such configuration, "" where it does. Connects to nobody.
  [[nodiscard]] static std::string problem_with(KafkaHandlerConfig config);

  /// Asks the cluster for the topic, once; 0: it is there. An error code else, at the latest when
  /// `until` is over.
  int find_topic(const std::string& topic, Clock::time_point until);
  /// Where a record will go, by the partitions the topic had when it was found.
  [[nodiscard]] KafkaRequest request_of(const std::string& topic, const Record& record) const;

  /// Forgets all reports and awaits those of messages 0 … count - 1.
  void expect(std::size_t count);
  struct Message {
    const std::string& topic;  ///< found before
    const Record& record;
    std::optional<std::string_view> body;
    const MessageForm& form;
    bool with_content_type = false;
  };
  /// Copies and queues it. An error code where it was not taken; then no report comes.
  int produce(std::size_t index, const Message& message);

  /// Sends what is queued and waits a moment for reports, at most until `until`.
  void serve(Clock::time_point until);
  /// Takes back what was not sent yet, and where `sent_too` no longer waits for the rest; reports
  /// of it follow.
  void purge(bool sent_too);

  [[nodiscard]] const std::vector<Delivery>& deliveries() const;
  [[nodiscard]] std::size_t unreported() const;  ///< messages queued or on their way
  [[nodiscard]] bool failed() const;             ///< a report was not good, or the library gave up
  /// The last one, "" where there was none.
  [[nodiscard]] std::string last_complaint() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers

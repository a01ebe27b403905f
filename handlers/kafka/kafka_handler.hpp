#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kafka/kafka_config.hpp"
#include "kafka/kafka_error.hpp"
#include "kafka/kafka_producer.hpp"
#include "seriatim/handler.hpp"
#include "seriatim/registry.hpp"
#include "support/excerpt.hpp"
#include "support/message_form.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// Produces to Kafka topics. What answers mean is in README.md beside this file.
///
/// A batch goes out in rounds, as many rows as fit in one request a partition. A round ends with
/// every row of it reported: confirmed, refused, taken back, or given up in doubt. After a failure
/// the producer is let go, and the next begins when nothing of it is left.
class KafkaHandler final : public Handler {
 public:
  /// Throws CannotRender for a configuration that `read_kafka_config` would have complained about.
  explicit KafkaHandler(KafkaHandlerConfig config, NoteWriter notes = {});

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// One call: which rows are confirmed, and which are looked at closely.
  struct Call {
    std::span<const Record> batch;
    const CallContext& context;
    Clock::time_point settle_at;  ///< what is left of the call then belongs to taking back
    std::vector<bool> confirmed;
    std::size_t done = 0;           ///< leading rows confirmed
    std::size_t suspects_from = 0;  ///< rows of a request that was refused whole go one at a time,
    std::size_t suspects_to = 0;    ///< so that the next refusal names one
  };
  /// The first row something was said against.
  struct Failure {
    std::size_t row = 0;
    KafkaRefusal refusal = KafkaRefusal::server;
    std::string reason;
    int error = 0;
    bool alone = true;  ///< it was said of this row, not of a request of several
  };

  /// A row made ready: where to, and what.
  struct Message {
    std::string topic;
    MessageBody body;
    std::size_t bytes = 0;  ///< about, in a request
  };

  [[nodiscard]] static std::size_t end_of_round(const Call& call);
  [[nodiscard]] std::optional<Failure> deliver(Call& call);
  [[nodiscard]] std::optional<Failure> open(const Call& call);
  [[nodiscard]] std::optional<Failure> produce(const Call& call);
  [[nodiscard]] Message message_of(const Record& record) const;
  [[nodiscard]] std::optional<Failure> find_topic(const Call& call, std::size_t row,
                                                  const std::string& topic);
  [[nodiscard]] std::optional<Failure> hand_over(const Call& call, std::size_t row,
                                                 const Message& message);
  [[nodiscard]] std::optional<Failure> failure_of(std::size_t row, const std::string& topic,
                                                  int error);
  void settle(const Call& call);
  [[nodiscard]] std::optional<Failure> collect(Call& call) const;
  /// Empty: another round tells.
  [[nodiscard]] std::optional<Outcome> judge(Call& call, const Failure& failure);
  void look_closer(Call& call, const Failure& failure);
  void let_go();
  void recall(Call& call);
  void remember(const Call& call);
  [[nodiscard]] std::string told(int error) const;

  KafkaHandlerConfig config_;
  MessageForm form_;
  Template topic_;
  Redactor redactor_;
  NoteWriter notes_;
  std::size_t request_bytes_;         ///< less than configured where a topic takes less
  std::vector<Delivery> deliveries_;  ///< of the last round
  std::string complaint_;             ///< of the client, in the last round
  std::unique_ptr<KafkaProducer> producer_;
  std::future<void> closing_;  ///< the producer before, until nothing of it is left
  /// Confirmed behind a row that failed, sequence and id: not handed over again.
  std::map<std::uint64_t, std::string> ahead_;
  std::uint64_t ahead_from_ = 0;  ///< sequence of the row that failed
  std::uint64_t ahead_epoch_ = 0;
};

}  // namespace seriatim::handlers

#pragma once

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
#include "seriatim/registry.hpp"
#include "support/message_form.hpp"
#include "support/pipelined_handler.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// Produces to Kafka topics. What answers mean is in README.md in this folder.
///
/// A round holds as many rows as fit in one request a partition. It ends with every row of it
/// reported: confirmed, refused, taken back, or given up in doubt. After a failure the producer is
/// given up, and the next begins when nothing of it is left.
class KafkaHandler final : public PipelinedHandler {
 public:
  /// Throws CannotRender for a configuration that `read_kafka_config` would have complained about.
  explicit KafkaHandler(KafkaHandlerConfig config, NoteWriter notes = {});

  std::optional<Rendering> render(const Record& record) override;

 private:
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

  [[nodiscard]] std::optional<Outcome> begin(Rows rows, Clock::time_point deadline) override;
  [[nodiscard]] bool add(Rows rows, std::size_t row) override;
  [[nodiscard]] RoundResult settle(Rows sent, Clock::time_point deadline) override;

  /// Why there is no producer; empty: there is one.
  [[nodiscard]] std::string open(const Record& first);
  [[nodiscard]] Message message_of(const Record& record) const;
  [[nodiscard]] bool fits(const KafkaRequest& request, std::size_t bytes);
  [[nodiscard]] bool is_ahead(const Record& record) const;
  void await_reports(Clock::time_point deadline);
  [[nodiscard]] std::size_t count_done(Rows sent);
  [[nodiscard]] std::optional<Failure> find_failure() const;
  /// Empty: another round finds out.
  [[nodiscard]] std::optional<Outcome> judge(Rows sent, std::size_t done, const Failure& failure);
  void examine(Rows sent, std::size_t done, const Failure& failure);
  void let_go();
  [[nodiscard]] std::string described(int error) const;

  KafkaHandlerConfig config_;
  MessageForm form_;
  Template topic_;
  Redactor redactor_;
  NoteWriter notes_;
  std::size_t request_bytes_;  ///< less than configured where a topic takes less
  /// Sequences of the rows of a request that was refused as a whole. They go one at a time, so that
  /// the next refusal names one.
  std::uint64_t suspects_from_ = 0;
  std::uint64_t suspects_to_ = 0;

  // Of this round.
  Clock::time_point settle_at_;    ///< what is left of the call then belongs to taking back
  std::uint64_t ends_before_ = 0;  ///< sequence
  std::map<KafkaRequest, std::size_t> requests_;  ///< their bytes
  std::size_t bytes_ = 0;                         ///< of all
  std::optional<Failure> not_handed_over_;        ///< the row after the last
  std::vector<Delivery> deliveries_;
  std::string complaint_;  ///< of the client

  std::unique_ptr<KafkaProducer> producer_;
  std::future<void> closing_;  ///< the producer before, until nothing of it is left
  /// Confirmed behind a row that failed, sequence and id: not handed over again.
  std::map<std::uint64_t, std::string> ahead_;
  std::uint64_t ahead_from_ = 0;  ///< sequence of the row that failed
  std::uint64_t ahead_epoch_ = 0;
};

}  // namespace seriatim::handlers

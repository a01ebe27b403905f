#include "kafka/kafka_handler.hpp"

#include <algorithm>
#include <utility>

#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;
using Fate = Delivery::Fate;

// Of a round, which a stop waits for, and which is in memory twice.
constexpr std::size_t rows_max = 10'000;
constexpr std::size_t bytes_max = 16 << 20;  // or one row

/// How much the requests of a round hold already.
struct Round {
  std::size_t request_bytes;
  std::map<KafkaRequest, std::size_t> requests;
  std::size_t bytes;

  bool takes(const KafkaRequest& request, std::size_t more) {
    auto& held = requests[request];
    const bool full = held > 0 && held + more > request_bytes;
    if (full || (bytes > 0 && bytes + more > bytes_max)) return false;
    held += more;
    bytes += more;
    return true;
  }
};

/// About: names and framing of what every message has are counted as 200 bytes.
std::size_t bytes_of(const Record& record, const MessageBody& body) {
  auto bytes = 200 + record.id().size() + record.process.size() + body.bytes().value_or("").size();
  if (record.key) bytes += record.key->size();
  if (record.event_type) bytes += record.event_type->size();
  for (const auto& [name, value] : record.headers) bytes += name.size() + value.size() + 4;
  return bytes;
}

}  // namespace

KafkaHandler::KafkaHandler(KafkaHandlerConfig config, NoteWriter notes)
    : config_(std::move(config)),
      form_(config_.form),
      topic_(config_.topic, Escaping::none),
      redactor_(redactor_of(config_)),
      notes_(std::move(notes)),
      request_bytes_(config_.request_bytes) {}

BatchOutcome KafkaHandler::handle(std::span<const Record> batch, const CallContext& context) {
  const auto left = std::chrono::floor<milliseconds>(context.deadline - Clock::now());
  const auto for_settling = std::clamp(left / 5, milliseconds{20}, milliseconds{1'000});
  Call call{batch, context, context.deadline - for_settling, std::vector<bool>(batch.size())};
  recall(call);
  std::optional<Outcome> outcome;
  while (call.done < batch.size() && !outcome) {
    if (call.done > 0 && context.should_yield()) break;
    const auto failure = deliver(call);
    if (failure) outcome = judge(call, *failure);
  }
  remember(call);
  return {call.done, std::move(outcome)};
}

std::size_t KafkaHandler::end_of_round(const Call& call) {
  if (call.done < call.suspects_from) return call.suspects_from;
  return call.done < call.suspects_to ? call.done + 1 : call.batch.size();
}

std::optional<KafkaHandler::Failure> KafkaHandler::deliver(Call& call) {
  deliveries_.clear();
  complaint_.clear();
  if (auto failure = open(call)) return failure;
  producer_->expect(call.batch.size());
  auto not_handed_over = produce(call);
  settle(call);
  auto failure = collect(call);  // of rows before the one that was not handed over
  return failure ? std::move(failure) : std::move(not_handed_over);
}

/// A producer in good health. Not before the one before is gone: nothing of it can be sent then.
std::optional<KafkaHandler::Failure> KafkaHandler::open(const Call& call) {
  if (producer_ && producer_->failed()) let_go();
  if (producer_) return std::nullopt;
  if (closing_.valid() && closing_.wait_until(call.settle_at) != std::future_status::ready) {
    return Failure{call.done, KafkaRefusal::server, "the connections before are not closed yet"};
  }
  const auto& first = call.batch.front();
  // To the log, what the client meets between calls too.
  const auto complain = [this, process = first.process,
                         lane = first.lane](const std::string& text) {
    if (notes_) notes_({process, lane, redactor_.redact(text)});
  };
  try {
    producer_ = std::make_unique<KafkaProducer>(
        config_, first.process + ':' + std::to_string(first.lane), complain);
  } catch (const CannotRender& e) {  // a file of certificates that is no more …
    return Failure{call.done, KafkaRefusal::server, excerpt(redactor_.redact(e.what()))};
  }
  return std::nullopt;
}

std::optional<KafkaHandler::Failure> KafkaHandler::produce(const Call& call) {
  const auto end = std::min(end_of_round(call), call.done + rows_max);
  Round round{request_bytes_, {}, 0};
  for (auto row = call.done; row < end; ++row) {
    if (call.confirmed[row]) continue;
    if (row > call.done && call.context.should_yield()) break;
    try {
      const auto message = message_of(call.batch[row]);
      if (auto failure = find_topic(call, row, message.topic)) return failure;
      if (!round.takes(producer_->request_of(message.topic, call.batch[row]), message.bytes)) break;
      if (auto failure = hand_over(call, row, message)) return failure;
    } catch (const CannotRender& e) {
      return Failure{row, KafkaRefusal::rows, e.what()};
    }
  }
  return std::nullopt;
}

KafkaHandler::Message KafkaHandler::message_of(const Record& record) const {
  const auto made = [&](std::string topic, MessageBody body) {
    const auto bytes = bytes_of(record, body);
    return Message{std::move(topic), std::move(body), bytes};
  };
  if (topic_.is_constant()) return made(config_.topic, form_.body_of(record));
  TemplateValues values(record);
  auto topic = topic_.render(values);
  if (is_topic_name(topic)) return made(std::move(topic), form_.body_of(record, values));
  throw CannotRender("the topic this record names is no name of a topic");
}

std::optional<KafkaHandler::Failure> KafkaHandler::find_topic(const Call& call, std::size_t row,
                                                              const std::string& topic) {
  const auto until = std::min(call.settle_at, Clock::now() + config_.connect_timeout);
  return failure_of(row, topic, producer_->find_topic(topic, until));
}

std::optional<KafkaHandler::Failure> KafkaHandler::hand_over(const Call& call, std::size_t row,
                                                             const Message& message) {
  const auto body = message.body.bytes();
  return failure_of(row, message.topic,
                    producer_->produce(row, {message.topic, call.batch[row], body, form_,
                                             config_.form.tells_content_type}));
}

std::optional<KafkaHandler::Failure> KafkaHandler::failure_of(std::size_t row,
                                                              const std::string& topic, int error) {
  if (error == 0) return std::nullopt;
  complaint_ = producer_->last_complaint();
  return Failure{row, refusal_of(error), "topic " + topic + ": " + told(error), error};
}

/// Until every row is reported, or the time is over.
void KafkaHandler::settle(const Call& call) {
  const auto serve_until = [&](Clock::time_point until, bool stop_at_failure) {
    while (producer_->unreported() > 0 && Clock::now() < until) {
      if (stop_at_failure && producer_->failed()) break;
      producer_->serve(until);
    }
  };
  serve_until(call.settle_at, true);
  const bool failed = producer_->unreported() > 0 || producer_->failed();
  if (failed) {
    producer_->purge(false);  // nothing more may leave; what has left may still be confirmed
    serve_until(call.settle_at, false);
    producer_->purge(true);
    serve_until(call.context.deadline, false);
  }
  deliveries_ = producer_->deliveries();
  complaint_ = producer_->last_complaint();
  if (failed) let_go();
}

std::optional<KafkaHandler::Failure> KafkaHandler::collect(Call& call) const {
  std::optional<std::size_t> unconfirmed;
  std::optional<std::size_t> refused;
  for (auto row = call.done; row < deliveries_.size(); ++row) {
    const auto& delivery = deliveries_[row];
    if (delivery.fate == Fate::confirmed) call.confirmed[row] = true;
    if (delivery.fate == Fate::confirmed || delivery.fate == Fate::none) continue;
    if (!unconfirmed) unconfirmed = row;
    const auto refusal = refusal_of(delivery.error);
    const bool its_own = refusal != KafkaRefusal::nothing && refusal != KafkaRefusal::collateral;
    if (!refused && its_own) refused = row;
  }
  while (call.done < call.batch.size() && call.confirmed[call.done]) ++call.done;
  if (!unconfirmed) return std::nullopt;
  if (!refused) {
    return Failure{*unconfirmed, KafkaRefusal::collateral, told(deliveries_[*unconfirmed].error)};
  }
  const auto& said = deliveries_[*refused];
  const auto rows = std::count_if(deliveries_.begin(), deliveries_.end(),
                                  [&](const Delivery& one) { return one.fared_like(said); });
  return Failure{*refused, refusal_of(said.error), told(said.error), said.error, rows == 1};
}

std::optional<Outcome> KafkaHandler::judge(Call& call, const Failure& failure) {
  const auto fate = deliveries_.size() > call.done ? deliveries_[call.done].fate : Fate::none;
  const bool topic_is_waited_for =
      failure.refusal == KafkaRefusal::topic && !config_.unknown_topic_is_poison;
  const bool for_good = failure.refusal == KafkaRefusal::rows ||
                        failure.refusal == KafkaRefusal::too_large ||
                        (failure.refusal == KafkaRefusal::topic && !topic_is_waited_for);
  if (fate == Fate::in_doubt && !(for_good && failure.row == call.done)) {
    return Outcome::unknown(failure.reason);
  }
  if (!for_good) return Outcome::retry_later(failure.reason);
  const bool names_it = failure.alone || failure.refusal == KafkaRefusal::topic;
  if (failure.row == call.done && names_it) return Outcome::poison(failure.reason);
  look_closer(call, failure);
  return std::nullopt;
}

/// A request is refused whole. Rows before it that were taken back go first; then its own, in
/// smaller requests where it was too large, else one at a time.
void KafkaHandler::look_closer(Call& call, const Failure& failure) {
  call.suspects_from = call.suspects_to = failure.row;
  if (failure.refusal != KafkaRefusal::too_large) {
    for (auto row = failure.row; row < deliveries_.size(); ++row) {
      if (deliveries_[row].fared_like(deliveries_[failure.row])) call.suspects_to = row + 1;
    }
  } else if (failure.row == call.done) {
    request_bytes_ = std::max<std::size_t>(request_bytes_ / 2, 1);
  }
}

void KafkaHandler::let_go() {
  closing_ = std::async(std::launch::async, [last = std::move(producer_)]() mutable { last = {}; });
}

void KafkaHandler::recall(Call& call) {
  const auto& first = call.batch.front();
  if (first.epoch != ahead_epoch_ || first.sequence < ahead_from_) ahead_.clear();
  if (ahead_.empty()) return;
  for (std::size_t row = 0; row < call.batch.size(); ++row) {
    const auto found = ahead_.find(call.batch[row].sequence);
    call.confirmed[row] = found != ahead_.end() && found->second == call.batch[row].id();
  }
  while (call.done < call.batch.size() && call.confirmed[call.done]) ++call.done;
}

void KafkaHandler::remember(const Call& call) {
  if (call.done == call.batch.size()) {
    ahead_.erase(ahead_.begin(), ahead_.upper_bound(call.batch.back().sequence));
    return;
  }
  const auto& failed = call.batch[call.done];
  ahead_.erase(ahead_.begin(), ahead_.upper_bound(failed.sequence));
  for (auto row = call.done; row < call.batch.size(); ++row) {
    if (call.confirmed[row]) ahead_.emplace(call.batch[row].sequence, call.batch[row].id());
  }
  ahead_from_ = failed.sequence;
  ahead_epoch_ = failed.epoch;
}

std::string KafkaHandler::told(int error) const {
  std::string text;
  if (refusal_of(error) == KafkaRefusal::collateral || error == 0) {
    text = "no acknowledgement in time from " + config_.brokers;
  } else {
    text = describe_error(error);
  }
  if (!complaint_.empty()) text += "; the client said: " + complaint_;
  return excerpt(redactor_.redact(std::move(text)), 400);
}

}  // namespace seriatim::handlers

namespace seriatim {

void register_kafka(HandlerRegistry& registry);

void register_kafka(HandlerRegistry& registry) {
  HandlerKind kind{"kafka", "a message of a Kafka topic a record",
                   [notes = registry.notes()](Options& options) -> HandlerFactory {
                     return [config = handlers::read_kafka_config(options), notes](unsigned) {
                       return std::make_unique<handlers::KafkaHandler>(config, notes);
                     };
                   }};
  kind.takes_batches = true;
  registry.add(std::move(kind));
}

}  // namespace seriatim

#include "kafka/kafka_handler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kafka/kafka_headers.hpp"
#include "seriatim/handlers.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;
using Fate = Delivery::Fate;

// Of a round, which a stop waits for, and which is in memory twice.
constexpr std::size_t rows_max = 10'000;
constexpr std::size_t bytes_max = 16 << 20;  // or one row

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

std::optional<Outcome> KafkaHandler::begin(Rows rows, Clock::time_point deadline) {
  const auto& first = rows.front();
  if (first.epoch != ahead_epoch_ || first.sequence < ahead_from_) ahead_.clear();
  const auto left = std::chrono::floor<milliseconds>(deadline - Clock::now());
  settle_at_ = deadline - std::clamp(left / 5, milliseconds{20}, milliseconds{1'000});
  ends_before_ = std::numeric_limits<std::uint64_t>::max();
  if (first.sequence < suspects_to_) ends_before_ = std::max(suspects_from_, first.sequence + 1);
  requests_.clear();
  bytes_ = 0;
  not_handed_over_.reset();
  deliveries_.clear();
  complaint_.clear();
  const auto done = [this](const Record& record) { return is_ahead(record); };
  if (!std::all_of(rows.begin(), rows.end(), done)) {
    if (auto why = open(first); !why.empty()) return Outcome::retry_later(std::move(why));
  }
  if (producer_) producer_->expect(rows.size());
  return std::nullopt;
}

/// A producer in good health. Not before the one before is gone: nothing of it can be sent then.
std::string KafkaHandler::open(const Record& first) {
  if (producer_ && producer_->failed()) let_go();
  if (producer_) return {};
  if (closing_.valid() && closing_.wait_until(settle_at_) != std::future_status::ready) {
    return "the connections before are not closed yet";
  }
  // To the log, what the client meets between calls too.
  const auto complain = [this, process = first.process,
                         lane = first.lane](const std::string& text) {
    if (notes_) notes_({process, lane, redactor_.redact(text)});
  };
  try {
    producer_ = std::make_unique<KafkaProducer>(
        config_, first.process + ':' + std::to_string(first.lane), complain);
  } catch (const CannotRender& e) {  // a file of certificates that is no more …
    return excerpt(redactor_.redact(e.what()));
  }
  return {};
}

bool KafkaHandler::add(Rows rows, std::size_t row) {
  const auto& record = rows[row];
  if (row == rows_max || record.sequence >= ends_before_) return false;
  if (is_ahead(record)) return true;
  if (row > 0 && should_yield()) return false;
  const auto message = message_of(record);
  const auto& topic = message.topic;
  auto error =
      producer_->find_topic(topic, std::min(settle_at_, Clock::now() + config_.connect_timeout));
  if (error == 0) {
    if (!fits(producer_->request_of(topic, record), message.bytes)) return false;
    const auto body = message.body.bytes();
    error = producer_->produce(row, {topic, record, body, form_, config_.form.sends_content_type});
  }
  if (error == 0) return true;
  complaint_ = producer_->last_complaint();
  not_handed_over_ =
      Failure{row, refusal_of(error), "topic " + topic + ": " + described(error), error};
  return false;
}

bool KafkaHandler::fits(const KafkaRequest& request, std::size_t bytes) {
  auto& held = requests_[request];
  const bool full = held > 0 && held + bytes > request_bytes_;
  if (full || (bytes_ > 0 && bytes_ + bytes > bytes_max)) return false;
  held += bytes;
  bytes_ += bytes;
  return true;
}

bool KafkaHandler::is_ahead(const Record& record) const {
  const auto found = ahead_.find(record.sequence);
  return found != ahead_.end() && found->second == record.id();
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

std::optional<Rendering> KafkaHandler::render(const Record& record) {
  const auto message = message_of(record);
  Rendering rendering{{{"topic", message.topic}}, {}, {}};
  if (record.key) rendering.envelope.emplace_back("key", *record.key);
  add_headers(record, form_, config_.form.sends_content_type,
              [&](std::string_view name, std::string_view value) {
                rendering.headers.emplace_back(name, value);
              });
  rendering.body = message.body.bytes();
  return rendering;
}

KafkaHandler::RoundResult KafkaHandler::settle(Rows sent, Clock::time_point deadline) {
  if (producer_) await_reports(deadline);
  const auto done = count_done(sent);
  auto failure = find_failure();  // of rows before the one that was not handed over
  if (!failure) failure = std::move(not_handed_over_);
  if (!failure) return {done, std::nullopt};
  return {done, judge(sent, done, *failure)};
}

/// Until every row is reported, or the time is over.
void KafkaHandler::await_reports(Clock::time_point deadline) {
  const auto serve_until = [&](Clock::time_point until, bool stop_at_failure) {
    while (producer_->unreported() > 0 && Clock::now() < until) {
      if (stop_at_failure && producer_->failed()) break;
      producer_->serve(until);
    }
  };
  serve_until(settle_at_, true);
  const bool failed = producer_->unreported() > 0 || producer_->failed();
  if (failed) {
    producer_->purge(false);  // nothing more may leave; what has left may still be confirmed
    serve_until(settle_at_, false);
    producer_->purge(true);
    serve_until(deadline, false);
  }
  deliveries_ = producer_->deliveries();
  complaint_ = producer_->last_complaint();
  if (failed) let_go();
}

/// Remembers what is confirmed after them.
std::size_t KafkaHandler::count_done(Rows sent) {
  const auto is_confirmed = [&](std::size_t row) {
    return row < deliveries_.size() && deliveries_[row].fate == Fate::confirmed;
  };
  std::size_t done = 0;
  while (done < sent.size() && (is_confirmed(done) || is_ahead(sent[done]))) ++done;
  if (done > 0) ahead_.erase(ahead_.begin(), ahead_.upper_bound(sent[done - 1].sequence));
  if (done == sent.size()) return done;
  for (auto row = done; row < sent.size(); ++row) {
    if (is_confirmed(row)) ahead_.emplace(sent[row].sequence, sent[row].id());
  }
  ahead_from_ = sent[done].sequence;
  ahead_epoch_ = sent[done].epoch;
  return done;
}

std::optional<KafkaHandler::Failure> KafkaHandler::find_failure() const {
  std::optional<std::size_t> unconfirmed;
  std::optional<std::size_t> refused;
  for (std::size_t row = 0; row < deliveries_.size(); ++row) {
    const auto& delivery = deliveries_[row];
    if (delivery.fate == Fate::confirmed || delivery.fate == Fate::none) continue;
    if (!unconfirmed) unconfirmed = row;
    const auto refusal = refusal_of(delivery.error);
    const bool its_own = refusal != KafkaRefusal::nothing && refusal != KafkaRefusal::collateral;
    if (!refused && its_own) refused = row;
  }
  if (!unconfirmed) return std::nullopt;
  if (!refused) {
    return Failure{*unconfirmed, KafkaRefusal::collateral,
                   described(deliveries_[*unconfirmed].error)};
  }
  const auto& said = deliveries_[*refused];
  const auto rows = std::count_if(deliveries_.begin(), deliveries_.end(),
                                  [&](const Delivery& one) { return one.fared_like(said); });
  return Failure{*refused, refusal_of(said.error), described(said.error), said.error, rows == 1};
}

std::optional<Outcome> KafkaHandler::judge(Rows sent, std::size_t done, const Failure& failure) {
  const auto fate = done < deliveries_.size() ? deliveries_[done].fate : Fate::none;
  const bool topic_is_waited_for =
      failure.refusal == KafkaRefusal::topic && !config_.unknown_topic_is_poison;
  const bool for_good = failure.refusal == KafkaRefusal::rows ||
                        failure.refusal == KafkaRefusal::too_large ||
                        (failure.refusal == KafkaRefusal::topic && !topic_is_waited_for);
  if (fate == Fate::in_doubt && !(for_good && failure.row == done)) {
    return Outcome::unknown(failure.reason);
  }
  if (!for_good) return Outcome::retry_later(failure.reason);
  const bool names_it = failure.alone || failure.refusal == KafkaRefusal::topic;
  if (failure.row == done && names_it) return Outcome::poison(failure.reason);
  examine(sent, done, failure);
  return std::nullopt;
}

/// A request is refused whole. Rows before it that were taken back go first; then its own, in
/// smaller requests where it was too large, else one at a time.
void KafkaHandler::examine(Rows sent, std::size_t done, const Failure& failure) {
  suspects_from_ = suspects_to_ = sent[failure.row].sequence;
  if (failure.refusal != KafkaRefusal::too_large) {
    for (auto row = failure.row; row < deliveries_.size(); ++row) {
      if (deliveries_[row].fared_like(deliveries_[failure.row])) {
        suspects_to_ = sent[row].sequence + 1;
      }
    }
  } else if (failure.row == done) {
    request_bytes_ = std::max<std::size_t>(request_bytes_ / 2, 1);
  }
}

void KafkaHandler::let_go() {
  closing_ = std::async(std::launch::async, [last = std::move(producer_)]() mutable { last = {}; });
}

std::string KafkaHandler::described(int error) const {
  std::string text;
  if (refusal_of(error) == KafkaRefusal::collateral || error == 0) {
    text = "no acknowledgement in time from " + config_.brokers;
  } else {
    text = describe_error(error);
  }
  if (!complaint_.empty()) text += "; the client said: " + complaint_;
  return excerpt(redactor_.redact(std::move(text)), 400);
}

void register_kafka(HandlerRegistry& registry) {
  HandlerKind kind{"kafka", "a message of a Kafka topic a record",
                   [notes = registry.notes()](Options& options) -> HandlerFactory {
                     return [config = read_kafka_config(options), notes](unsigned) {
                       return std::make_unique<KafkaHandler>(config, notes);
                     };
                   }};
  kind.takes_batches = true;
  registry.add(std::move(kind));
}

}  // namespace seriatim::handlers

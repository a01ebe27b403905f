#include "nats/nats_handler.hpp"

#include <algorithm>
#include <utility>

#include "seriatim/handlers.hpp"

namespace seriatim::handlers {

namespace {

// On their way at once, or one row: few enough for the socket's buffer, so that publishing waits
// for nothing.
constexpr std::size_t in_flight_bytes_max = 2 << 20;

}  // namespace

NatsHandler::NatsHandler(NatsHandlerConfig config)
    : config_(std::move(config)),
      maker_(config_),
      connection_(config_),
      window_(config_.in_flight) {
  hide(config_.password);
  hide(config_.token);
}

std::optional<Outcome> NatsHandler::begin(Rows /*rows*/, Clock::time_point deadline) {
  bytes_ = 0;
  if (connection_.is_open()) return std::nullopt;
  window_ = config_.in_flight;
  others_write_ = false;
  last_id_.reset();
  compared_ = !last_sequence_;
  auto failure = connection_.open(deadline);
  if (failure.empty()) return std::nullopt;
  return Outcome::retry_later(reported(std::move(failure)));
}

/// Several rows only if each names the row it must follow: the server refuses a row whose
/// predecessor failed, so nothing overtakes a row. The name is an id, because another writer's
/// message may take an expected sequence number. The first row may go without: all rows before it
/// are acknowledged.
bool NatsHandler::add(Rows rows, std::size_t row) {
  const bool alone = config_.expect_last_message && !last_id_;
  if (row >= (alone ? 1 : window_) || bytes_ >= in_flight_bytes_max) return false;
  auto message = maker_.make(rows[row]);
  if (auto header = expectation(rows, row)) message.headers.push_back(std::move(*header));
  connection_.publish(message);
  bytes_ += message.body.bytes().value_or("").size();
  return true;
}

std::optional<Rendering> NatsHandler::render(const Record& record) {
  auto message = maker_.make(record);
  if (config_.expect_last_message) {
    message.headers.emplace_back("Nats-Expected-Last-Msg-Id", "<id of the message before>");
  }
  return Rendering{{{"subject", std::move(message.subject)}},
                   std::move(message.headers),
                   std::string(message.body.bytes().value_or(""))};
}

std::optional<Header> NatsHandler::expectation(Rows rows, std::size_t row) const {
  if (!config_.expect_last_message) return std::nullopt;
  if (row > 0) return Header{"Nats-Expected-Last-Msg-Id", rows[row - 1].idempotency_key()};
  if (first_is_chained()) return Header{"Nats-Expected-Last-Msg-Id", *last_id_};
  if (compared_) return std::nullopt;
  return Header{"Nats-Expected-Last-Sequence", std::to_string(*last_sequence_)};
}

/// So that of what a relay sent that lost the lane nothing is stored once the stream went on.
bool NatsHandler::first_is_chained() const {
  return last_id_ && !others_write_;
}

NatsHandler::RoundResult NatsHandler::settle(Rows sent, Clock::time_point deadline) {
  const auto report = connection_.collect(deadline);
  const auto& acks = report.acks;
  const auto failed = std::find_if(acks.begin(), acks.end(),
                                   [](const auto& ack) { return !ack || !ack->is_stored(); });
  const auto done = static_cast<std::size_t>(failed - acks.begin());
  if (done > 0) {
    last_id_ = sent[done - 1].idempotency_key();
    last_sequence_ = acks[done - 1]->sequence;
    stream_ = acks[done - 1]->stream;
    compared_ = true;
  }
  if (failed == acks.end()) {
    window_ = std::min(window_ * 2, config_.in_flight);
    if (window_ == config_.in_flight) others_write_ = false;
    return {done, std::nullopt};
  }
  if (!*failed) return {done, judge_missing(report)};
  if ((*failed)->is_wrong_predecessor() && (done > 0 || first_is_chained())) {
    // Someone else wrote into the stream, or this row goes to another one. It goes first, next.
    others_write_ = true;
    window_ = std::max<std::size_t>(window_ / 2, 1);
    return {done, std::nullopt};
  }
  return {done, judge_refusal(**failed)};
}

Outcome NatsHandler::judge_missing(const NatsReport& report) const {
  if (!report.failure.empty()) {
    auto why = reported(report.failure);
    return report.denied ? Outcome::retry_later(std::move(why)) : Outcome::unknown(std::move(why));
  }
  const auto* why = "no stream takes the subject of this record";
  return config_.missing_stream_is_poison ? Outcome::poison(why) : Outcome::retry_later(why);
}

/// Nothing where the row is to be sent again at once.
std::optional<Outcome> NatsHandler::judge_refusal(const PublishAck& ack) {
  if (ack.is_wrong_sequence() && !compared_) return judge_wrong_sequence(ack);
  const auto why = config_.place.origin() + ": " + reported(ack.description);
  if (ack.is_against_the_row()) {
    return Outcome::poison("the server does not take this record: " + why);
  }
  return Outcome::retry_later(why);
}

/// A server that was restarted may have lost what it acknowledged.
std::optional<Outcome> NatsHandler::judge_wrong_sequence(const PublishAck& ack) {
  compared_ = true;
  const auto acknowledged = *last_sequence_;
  const auto end = ack.stream_ends_at();
  if (ack.stream != stream_ || !end || *end >= acknowledged) return std::nullopt;
  // Recorded once: an operator's `seriatim retry` accepts the gap.
  return Outcome::poison("the server lost messages it had acknowledged: stream " +
                         excerpt(stream_) + " ends at " + std::to_string(*end) + ", but " +
                         std::to_string(acknowledged) +
                         " was acknowledged (or it was made anew); rewind the process to send them "
                         "again, or accept the gap with seriatim retry");
}

void register_nats(HandlerRegistry& registry) {
  add_pipelined_kind<NatsHandler>(registry, "nats",
                                  "a message to a JetStream stream of NATS a record, acknowledged",
                                  read_nats_config);
}

}  // namespace seriatim::handlers

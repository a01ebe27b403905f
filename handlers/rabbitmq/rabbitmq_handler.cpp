#include "rabbitmq/rabbitmq_handler.hpp"

#include <algorithm>
#include <utility>

#include "rabbitmq/amqp_refusal.hpp"
#include "seriatim/handlers.hpp"

namespace seriatim::handlers {

namespace {

using Answer = AmqpReport::Answer;
using Misrouted = RabbitmqHandlerConfig::Misrouted;

// On their way at once, and so what is kept in memory twice; or one row.
constexpr std::size_t in_flight_bytes_max = 4 << 20;
// Larger ones travel alone: they are what a limit of the server would refuse.
constexpr std::size_t row_bytes_max = 128 << 10;
constexpr std::size_t routes_max = 10'000;
// A queue that refused a row takes the next one as soon as somebody reads from it.
constexpr std::chrono::minutes caution{5};

constexpr std::string_view probe_queue = "seriatim: no queue has this name";

Outcome outcome_of(Misrouted misrouted, std::string why) {
  return misrouted == Misrouted::poison ? Outcome::poison(std::move(why))
                                        : Outcome::retry_later(std::move(why));
}

}  // namespace

RabbitmqHandler::RabbitmqHandler(RabbitmqHandlerConfig config)
    : config_(std::move(config)), maker_(config_), connection_(config_) {
  if (config_.password != config_.username) hide(config_.password);
}

std::optional<Outcome> RabbitmqHandler::begin(Rows /*rows*/, Clock::time_point deadline) {
  if (auto failure = make_ready(deadline)) return failure;
  const bool alone = one_by_one_ > 0 || !proven_ || Clock::now() < cautious_until_;
  limit_ = alone ? 1 : config_.in_flight;
  return std::nullopt;
}

std::optional<Outcome> RabbitmqHandler::make_ready(Clock::time_point deadline) {
  if (connection_.is_ready()) return std::nullopt;
  blocked_ = blocked_ || !connection_.blocked().empty();
  routes_.clear();
  proven_ = false;
  if (auto failure = connection_.open(deadline); !failure.empty()) {
    return Outcome::retry_later(reported(std::move(failure)));
  }
  return blocked_ ? ask_whether_blocked(deadline) : std::nullopt;
}

/// By messages no queue takes: of a new connection the server reads one, and no second while it is
/// blocked. Rows would stay in its socket and be published when that is over, at each attempt.
std::optional<Outcome> RabbitmqHandler::ask_whether_blocked(Clock::time_point deadline) {
  AmqpMessage probe;
  probe.routing_key = probe_queue;
  for (int i = 0; i < 2; ++i) connection_.add(probe);
  const auto report = connection_.send(deadline);
  blocked_ = !connection_.blocked().empty();
  if (blocked_) return Outcome::retry_later(reported(what_blocks()));
  if (report.closure) return make_ready(deadline);  // it refuses, so it reads
  if (report.failure.empty()) return std::nullopt;
  return Outcome::retry_later(reported(report.failure));
}

std::string RabbitmqHandler::what_blocks() const {
  return config_.place.origin() + ": the server takes no messages: " + connection_.blocked();
}

bool RabbitmqHandler::add(Rows rows, std::size_t row) {
  if (row >= limit_ || connection_.bytes_added() >= in_flight_bytes_max) return false;
  const auto message = maker_.make(rows[row]);
  const bool alone = travels_alone(message);
  if (row > 0 && alone) return false;
  connection_.add(maker_.view(rows[row], message));
  if (row == 0) route_ = message.route();
  if (alone) limit_ = 1;
  return true;
}

std::optional<Rendering> RabbitmqHandler::render(const Record& record) {
  const auto made = maker_.make(record);
  const auto message = maker_.view(record, made);
  AmqpWriter().publish(message, amqp_frame_bytes_max);  // throws if AMQP cannot carry it
  Rendering rendering{{{"exchange", made.exchange},
                       {"routing_key", made.routing_key},
                       {"content-type", std::string(message.content_type)},
                       {"message-id", std::string(message.id)},
                       {"app-id", std::string(message.app_id)}},
                      {},
                      std::string(message.body)};
  if (!message.type.empty()) rendering.envelope.emplace_back("type", message.type);
  if (message.timestamp > 0) {
    rendering.envelope.emplace_back("timestamp", std::to_string(message.timestamp));
  }
  for (const auto& [name, value] : message.headers) {
    const auto* number = std::get_if<std::int64_t>(&value);
    rendering.headers.emplace_back(name, number != nullptr
                                             ? std::to_string(*number)
                                             : std::string(std::get<std::string_view>(value)));
  }
  return rendering;
}

/// Alone, so that no row behind it is there already when it is refused for its size or its route.
bool RabbitmqHandler::travels_alone(const RoutedMessage& message) const {
  if (message.body_bytes() > row_bytes_max) return true;
  if (!config_.try_routes || maker_.has_one_route()) return false;
  return routes_.count(message.route()) == 0;
}

void RabbitmqHandler::remember_route() {
  proven_ = true;
  if (!config_.try_routes || maker_.has_one_route()) return;
  if (routes_.size() >= routes_max) routes_.clear();
  routes_.insert(route_);
}

RabbitmqHandler::RoundResult RabbitmqHandler::settle(Rows /*sent*/, Clock::time_point deadline) {
  const auto report = connection_.send(deadline);
  const auto& answers = report.answers;
  const auto refused =
      std::find_if(answers.begin(), answers.end(), [](auto a) { return a != Answer::acked; });
  const auto done = static_cast<std::size_t>(refused - answers.begin());
  if (done > 0) remember_route();
  one_by_one_ -= std::min(one_by_one_, done);
  if (refused == answers.end()) return {done, std::nullopt};
  if (*refused == Answer::returned) return {done, judge_return(report.returns.at(done))};
  if (*refused == Answer::none) return {done, judge_unanswered(report, answers.size() - done)};
  cautious_until_ = Clock::now() + caution;
  return {done,
          Outcome::retry_later("the server refused to take the message (basic.nack): a queue is "
                               "full (overflow = reject-publish), or it failed")};
}

/// Nothing if the rows are to be sent again one by one, since one of them ended the channel.
std::optional<Outcome> RabbitmqHandler::judge_unanswered(const AmqpReport& report,
                                                         std::size_t unanswered) {
  if (report.closure) {
    const auto refusal = amqp_refusal_of(report.closure->code, report.closure->text);
    const bool for_a_row = report.closure->channel_only || refusal == AmqpRefusal::row;
    if (!for_a_row || unanswered == 1) return judge_closure(report);
    one_by_one_ = unanswered;
    return std::nullopt;
  }
  blocked_ = !connection_.blocked().empty();
  return Outcome::unknown(reported(blocked_ ? what_blocks() : report.failure));
}

/// Of the one message that was on its way.
Outcome RabbitmqHandler::judge_closure(const AmqpReport& report) const {
  const auto& closure = *report.closure;
  auto why = reported(report.failure);
  switch (amqp_refusal_of(closure.code, closure.text)) {
    case AmqpRefusal::row: return Outcome::poison("the server does not take this record: " + why);
    case AmqpRefusal::exchange: return outcome_of(config_.missing_exchange, std::move(why));
    case AmqpRefusal::server: break;
  }
  return closure.channel_only ? Outcome::retry_later(std::move(why))
                              : Outcome::unknown(std::move(why));
}

Outcome RabbitmqHandler::judge_return(const std::string& said) const {
  return outcome_of(config_.unroutable, "no queue takes it (" + reported(said) +
                                            "): none is bound for its routing key");
}

void register_rabbitmq(HandlerRegistry& registry) {
  add_pipelined_kind<RabbitmqHandler>(registry, "rabbitmq",
                                      "a message to a RabbitMQ exchange a record, confirmed",
                                      read_rabbitmq_config);
}

}  // namespace seriatim::handlers

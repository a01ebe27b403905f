#include "rabbitmq/amqp_connection.hpp"

#include <algorithm>
#include <utility>

namespace seriatim::handlers {

namespace {

using Kind = AmqpEvent::Kind;
using Answer = AmqpReport::Answer;
using std::chrono::milliseconds;

constexpr milliseconds good_bye_time{200};
constexpr milliseconds hearing_time{200};  // for bytes that are here already

bool has_word(const std::string& words, std::string_view word) {
  return (' ' + words + ' ').find(' ' + std::string(word) + ' ') != std::string::npos;
}

}  // namespace

AmqpConnection::AmqpConnection(const RabbitmqHandlerConfig& config)
    : config_(config), network_(config.network()), connector_(network_) {}

AmqpConnection::~AmqpConnection() {
  close();
}

void AmqpConnection::drop() {
  stream_.reset();
  reader_.reset();
}

// Without a word the server would log a client that vanished.
void AmqpConnection::close() {
  if (!stream_ || !stream_->is_quiet()) return drop();
  try {
    writer_.clear();
    writer_.close();
    std::vector<AmqpEvent> events;
    const auto take = [&](std::string_view bytes) {
      return !reader_->take(bytes, events).empty() || !events.empty();
    };
    (void)stream_->talk(writer_.bytes(), take, Clock::now() + good_bye_time);
  } catch (const std::exception&) {  // then it logs one
  }
  drop();
}

bool AmqpConnection::is_ready() {
  if (stream_ && Clock::now() - used_at_ > config_.idle_max) close();
  if (stream_ && !stream_->is_quiet()) hear();
  return stream_ && blocked_.empty();
}

void AmqpConnection::hear() {
  AmqpReport report;
  std::vector<AmqpEvent> events;
  bool sound = true;
  const auto take_bytes = [&](std::string_view bytes) {
    sound = reader_->take(bytes, events).empty();
    for (const auto& event : events) sound = take(event, report) && sound;
    return true;
  };
  const auto failure = stream_->talk({}, take_bytes, Clock::now() + hearing_time);
  if (!sound || report.closure || !failure.empty()) drop();
}

std::string AmqpConnection::open(Clock::time_point deadline) {
  close();
  writer_.clear();
  ids_.clear();
  tag_before_ = 0;
  blocked_.clear();
  auto opened = connector_.open(config_.place, deadline);
  if (const auto* failure = std::get_if<HttpFailure>(&opened)) return failure->what;
  stream_ = std::get<std::unique_ptr<ByteStream>>(std::move(opened));
  reader_ = std::make_unique<AmqpReader>();
  auto problem = shake_hands(std::min(deadline, Clock::now() + config_.connect_timeout));
  used_at_ = Clock::now();
  if (problem.empty()) return {};
  drop();
  return config_.place.origin() + ": " + problem;
}

std::string AmqpConnection::shake_hands(Clock::time_point deadline) {
  AmqpEvent said;
  writer_.protocol_header();
  if (auto problem = step(Kind::start, said, deadline); !problem.empty()) return problem;
  if (!has_word(said.text, "PLAIN")) return "takes no user name and password (PLAIN)";
  writer_.start_ok(config_.username, config_.password);
  if (auto problem = step(Kind::tune, said, deadline); !problem.empty()) return problem;
  frame_max_ =
      said.frame_max == 0 ? amqp_frame_bytes_max : std::min(said.frame_max, amqp_frame_bytes_max);
  if (frame_max_ < amqp_frame_bytes_min) return "takes frames of less than 4096 bytes only";
  writer_.open(config_.vhost, frame_max_);
  return step(Kind::confirms_selected, said, deadline);
}

std::string AmqpConnection::step(Kind awaited, AmqpEvent& found, Clock::time_point deadline) {
  std::vector<AmqpEvent> events;
  std::string problem;
  const auto ends = [&](const AmqpEvent& event) {
    return event.kind == awaited || event.kind == Kind::connection_closed ||
           event.kind == Kind::channel_closed;
  };
  const auto take = [&](std::string_view bytes) {
    problem = reader_->take(bytes, events);
    return !problem.empty() || std::any_of(events.begin(), events.end(), ends);
  };
  auto failure = stream_->talk(writer_.bytes(), take, deadline);
  writer_.clear();
  if (!problem.empty()) return problem;
  const auto end = std::find_if(events.begin(), events.end(), ends);
  if (end == events.end()) return failure.empty() ? "no answer" : failure;
  found = std::move(*end);
  return found.kind == awaited ? "" : found.text;
}

void AmqpConnection::add(const AmqpMessage& message) {
  writer_.publish(message, frame_max_);
  ids_.emplace_back(message.id);
}

AmqpReport AmqpConnection::send(Clock::time_point deadline) {
  AmqpReport report;
  report.answers.resize(ids_.size());
  confirmed_.assign(ids_.size(), false);
  answered_ = unconfirmed_from_ = 0;
  std::string problem;
  std::vector<AmqpEvent> events;
  const auto take_bytes = [&](std::string_view bytes) {
    events.clear();
    problem = reader_->take(bytes, events);
    for (const auto& event : events) {
      if (!take(event, report)) problem = "answered what was not asked";
    }
    return !problem.empty() || report.closure || answered_ == ids_.size();
  };
  auto failure = stream_->talk(writer_.bytes(), take_bytes, deadline);
  used_at_ = Clock::now();
  tag_before_ += ids_.size();
  const bool complete = answered_ == ids_.size() && !report.closure && problem.empty();
  writer_.clear();
  ids_.clear();
  if (complete && failure.empty()) return report;
  report.failure = config_.place.origin() + ": ";
  report.failure += report.closure ? report.closure->text : problem.empty() ? failure : problem;
  drop();
  return report;
}

bool AmqpConnection::take(const AmqpEvent& event, AmqpReport& report) {
  switch (event.kind) {
    case Kind::ack:
    case Kind::nack: return answer(event, report);
    case Kind::returned: give_back(event, report); return true;
    case Kind::blocked: blocked_ = event.text.empty() ? "?" : event.text; return true;
    case Kind::unblocked: blocked_.clear(); return true;
    case Kind::channel_closed:
    case Kind::connection_closed:
      if (!report.closure) {
        report.closure = {event.kind == Kind::channel_closed, event.code, event.text};
      }
      return true;
    default: return true;
  }
}

bool AmqpConnection::answer(const AmqpEvent& event, AmqpReport& report) {
  const auto last = event.tag == 0 && event.multiple ? ids_.size() : event.tag - tag_before_;
  if (last == 0 || last > ids_.size()) return false;
  for (auto i = event.multiple ? unconfirmed_from_ : last - 1; i < last; ++i) {
    if (confirmed_[i]) continue;
    confirmed_[i] = true;
    answered_ += 1;
    auto& answer = report.answers[i];  // one that was returned is acknowledged all the same
    if (answer == Answer::none) answer = event.kind == Kind::ack ? Answer::acked : Answer::nacked;
  }
  if (event.multiple) unconfirmed_from_ = std::max<std::size_t>(unconfirmed_from_, last);
  return true;
}

/// It has no number, but comes before the answer to its message.
void AmqpConnection::give_back(const AmqpEvent& event, AmqpReport& report) {
  for (auto i = unconfirmed_from_; i < ids_.size(); ++i) {
    if (report.answers[i] != Answer::none || ids_[i] != event.message_id) continue;
    report.answers[i] = Answer::returned;
    report.returns[i] = event.text;
    return;
  }
}

}  // namespace seriatim::handlers

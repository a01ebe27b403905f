#include "rabbitmq/message_maker.hpp"

#include <algorithm>
#include <array>

namespace seriatim::handlers {

namespace {

constexpr std::int64_t microseconds_in_a_second = 1'000'000;
constexpr std::array<std::string_view, 3> our_names{"id", "key", "event-type"};

/// A record's header of such a name would pass for what we say.
bool is_ours(const std::string& name) {
  return name.starts_with("seriatim-") || name.starts_with("cloudEvents:") ||
         std::find(our_names.begin(), our_names.end(), name) != our_names.end();
}

std::uint64_t seconds_of(const Record& record) {
  const auto seconds = record.position.created_at_us / microseconds_in_a_second;
  return seconds > 0 ? static_cast<std::uint64_t>(seconds) : 0;
}

}  // namespace

MessageMaker::MessageMaker(const RabbitmqHandlerConfig& config)
    : mandatory_(config.mandatory),
      exchange_(config.exchange, Escaping::none),
      routing_key_(config.routing_key, Escaping::none),
      form_(config.form),
      one_route_(exchange_.is_constant() && routing_key_.is_constant()) {}

RoutedMessage MessageMaker::make(const Record& record) const {
  TemplateValues values(record);
  auto exchange = exchange_.render(values);
  auto routing_key = routing_key_.render(values);
  RoutedMessage made{std::move(exchange), std::move(routing_key), form_.body_of(record, values),
                     form_.attributes_of(record)};
  for (auto& [name, value] : made.attributes) name.insert(0, "cloudEvents:");
  return made;
}

AmqpMessage MessageMaker::view(const Record& record, const RoutedMessage& made) const {
  AmqpMessage message{made.exchange,        made.routing_key, mandatory_,
                      form_.content_type(), record.id(),      {},
                      record.process};
  if (record.event_type) message.type = *record.event_type;
  message.timestamp = seconds_of(record);
  auto& headers = message.headers;
  headers.reserve(record.headers.size() + made.attributes.size() + 8);
  headers.emplace_back("id", record.id());
  if (record.event_type) headers.emplace_back("event-type", *record.event_type);
  if (record.key) headers.emplace_back("key", *record.key);
  headers.emplace_back("seriatim-process", record.process);
  headers.emplace_back("seriatim-lane", static_cast<std::int64_t>(record.lane));
  headers.emplace_back("seriatim-sequence", static_cast<std::int64_t>(record.sequence));
  headers.emplace_back("seriatim-epoch", static_cast<std::int64_t>(record.epoch));
  if (record.late) headers.emplace_back("seriatim-late", "true");
  const auto body = made.body.bytes();
  if (body) {
    message.body = *body;
  } else {
    headers.emplace_back("seriatim-payload", "null");  // an empty body is empty text
  }
  for (const auto& [name, value] : made.attributes) headers.emplace_back(name, value);
  for (const auto& [name, value] : record.headers) {
    if (!is_ours(name)) headers.emplace_back(name, value);
  }
  return message;
}

}  // namespace seriatim::handlers

#include "nats/publish_ack.hpp"

#include <charconv>

#include "support/cannot_render.hpp"
#include "support/excerpt.hpp"
#include "support/json_value.hpp"

namespace seriatim::handlers {

namespace {

constexpr unsigned message_too_large = 10'054;
constexpr unsigned headers_too_large = 10'097;

template <class Number>
Number number_at(const JsonValue& object, std::string_view name) {
  Number number = 0;
  const auto* value = object.find(name);
  if (value == nullptr) return number;
  std::from_chars(value->text.data(), value->text.data() + value->text.size(), number);
  return number;
}

std::string text_at(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  return value == nullptr ? "" : value->text;
}

PublishAck not_an_ack(std::string_view text) {
  PublishAck ack;
  ack.error = PublishAck::not_an_ack;
  ack.description = "answered with what is no acknowledgement: " + excerpt(text, 100);
  return ack;
}

PublishAck ack_of(const JsonValue& json) {
  PublishAck ack{text_at(json, "stream"),
                 number_at<std::uint64_t>(json, "seq"),
                 text_at(json, "duplicate") == "true",
                 0,
                 {}};
  if (const auto* error = json.find("error")) {
    ack.description = text_at(*error, "description");
    ack.error = number_at<unsigned>(*error, "err_code");
    if (ack.error == 0) ack.error = PublishAck::not_an_ack;
  }
  return ack;
}

}  // namespace

bool PublishAck::is_against_the_row() const {
  return error == message_too_large || error == headers_too_large;
}

// "wrong last sequence: 4711"
std::optional<std::uint64_t> PublishAck::stream_ends_at() const {
  constexpr std::string_view before = ": ";
  const auto at = description.rfind(before);
  if (!is_wrong_sequence() || at == std::string::npos) return std::nullopt;
  const auto digits = std::string_view(description).substr(at + before.size());
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

PublishAck parse_publish_ack(std::string_view text) {
  try {
    auto ack = ack_of(parse_json(text));
    const bool known = !ack.is_stored() || (!ack.stream.empty() && ack.sequence > 0);
    return known ? ack : not_an_ack(text);
  } catch (const CannotRender&) {
    return not_an_ack(text);
  }
}

}  // namespace seriatim::handlers

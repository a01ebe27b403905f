#include "exec/answer.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "support/cannot_render.hpp"
#include "support/json_value.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;
using Kind = Outcome::Kind;

constexpr double after_max_seconds = 1e9;  // whoever asks for longer means for ever

std::optional<Kind> kind_of(std::string_view name) {
  for (const auto kind : {Kind::done, Kind::retry_later, Kind::poison, Kind::unknown}) {
    if (name == to_string(kind)) return kind;
  }
  return std::nullopt;
}

ExecAnswer no_answer(std::string why) {
  return {{}, {}, std::move(why)};
}

std::string text_member(const JsonValue& answer, std::string_view name) {
  const auto* member = answer.find(name);
  return member != nullptr && member->kind == JsonValue::Kind::text ? member->text : std::string();
}

/// Absent where it is no number of seconds.
std::optional<milliseconds> seconds_of(const JsonValue& value) {
  if (value.kind != JsonValue::Kind::number) return std::nullopt;
  double seconds = -1;
  const auto* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, seconds);
  if (error != std::errc{} || stop != end || !(seconds >= 0)) return std::nullopt;
  const auto bounded = std::fmin(seconds, after_max_seconds);
  return milliseconds(static_cast<std::int64_t>(std::ceil(bounded * 1'000)));
}

ExecAnswer read_members(const JsonValue& line) {
  if (line.kind != JsonValue::Kind::object) return no_answer("no JSON object");
  const auto* id = line.find("id");
  if (id == nullptr || id->kind != JsonValue::Kind::text) return no_answer("no \"id\" text");
  const auto kind = kind_of(text_member(line, "outcome"));
  if (!kind) {
    return no_answer("no \"outcome\" that is \"done\", \"retry\", \"poison\" or \"unknown\"");
  }
  ExecAnswer answer{id->text, {*kind, text_member(line, "reason"), {}}, {}};
  const auto* after = line.find("after");
  if (after == nullptr || after->kind == JsonValue::Kind::null) return answer;
  answer.outcome.retry_after = seconds_of(*after);
  if (!answer.outcome.retry_after) return no_answer("an \"after\" that is no number of seconds");
  return answer;
}

}  // namespace

ExecAnswer read_answer(std::string_view line) {
  try {
    return read_members(parse_json(line));
  } catch (const CannotRender&) {
    return no_answer("no JSON");
  }
}

}  // namespace seriatim::handlers

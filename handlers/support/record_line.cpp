#include "support/record_line.hpp"

#include <algorithm>

#include "support/encoding.hpp"
#include "support/json_value.hpp"
#include "support/time_text.hpp"

namespace seriatim::handlers {

namespace {

std::string in_quotes(std::string_view text) {
  return '"' + json_escape(text) + '"';
}

void add_text(JsonLine& line, const std::string& payload) {
  const auto as_string = in_quotes(payload);
  if (json_problem(as_string).empty()) return line.raw("payload_text", as_string);
  line.text("payload_base64", base64_encode(payload));
}

/// Line breaks in JSON can only be blanks between tokens.
void add_payload(JsonLine& line, std::string payload, PayloadForm form) {
  if (form == PayloadForm::none) return;
  if (form == PayloadForm::base64) return line.text("payload_base64", base64_encode(payload));
  if (form == PayloadForm::text || !json_problem(payload).empty()) return add_text(line, payload);
  std::replace(payload.begin(), payload.end(), '\n', ' ');
  std::replace(payload.begin(), payload.end(), '\r', ' ');
  line.raw("payload", payload);
}

}  // namespace

void JsonLine::raw(std::string_view name, std::string_view value) {
  text_ += text_.empty() ? "{" : ",";
  text_ += in_quotes(name);
  text_ += ':';
  text_ += value;
}

void JsonLine::text(std::string_view name, std::string_view value) {
  raw(name, in_quotes(value));
}

void JsonLine::number(std::string_view name, std::uint64_t value) {
  raw(name, std::to_string(value));
}

std::string headers_json(const std::vector<Header>& headers) {
  JsonLine line;
  for (const auto& [name, value] : headers) line.text(name, value);
  return line.take();
}

JsonLine record_line(const Record& record, PayloadForm form) {
  JsonLine line;
  line.text("process", record.process);
  line.number("lane", record.lane);
  line.number("sequence", record.sequence);
  line.text("id", record.id());
  if (record.previous_id) line.text("previous_id", *record.previous_id);
  if (record.late) line.raw("late", "true");
  line.number("epoch", record.epoch);
  line.number("attempt", record.attempt);
  line.text("created_at", rfc3339(record.position.created_at_us));
  if (record.key) line.text("key", *record.key);
  if (record.event_type) line.text("event_type", *record.event_type);
  if (!record.headers.empty()) line.raw("headers", headers_json(record.headers));
  if (record.payload) add_payload(line, *record.payload, form);
  return line;
}

}  // namespace seriatim::handlers

#include "log/log_handler.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "seriatim/registry.hpp"
#include "support/encoding.hpp"
#include "support/json_value.hpp"
#include "support/time_text.hpp"

namespace seriatim::handlers {

namespace {

std::string quoted(std::string_view text) {
  return '"' + json_escape(text) + '"';
}

/// One flat JSON object, member by member.
class Line {
 public:
  void raw(std::string_view name, std::string_view value) {
    text_ += text_.empty() ? "{" : ",";
    text_ += quoted(name) + ':';
    text_ += value;
  }
  void text(std::string_view name, std::string_view value) { raw(name, quoted(value)); }
  void text(std::string_view name, const std::optional<std::string>& value) {
    if (value) text(name, std::string_view(*value));
  }
  void number(std::string_view name, std::uint64_t value) { raw(name, std::to_string(value)); }

  [[nodiscard]] std::string take() { return text_ + '}'; }

 private:
  std::string text_;
};

std::string headers_json(const std::vector<Header>& headers) {
  Line line;
  for (const auto& [name, value] : headers) line.text(name, std::string_view(value));
  return line.take();
}

// JSON stays JSON (its line breaks can only be blanks between tokens); other text becomes a string,
// other bytes base64.
void add_payload(Line& line, std::string payload) {
  if (json_problem(payload).empty()) {
    std::replace(payload.begin(), payload.end(), '\n', ' ');
    std::replace(payload.begin(), payload.end(), '\r', ' ');
    return line.raw("payload", payload);
  }
  const auto as_string = quoted(payload);
  if (json_problem(as_string).empty()) return line.raw("payload_text", as_string);
  line.text("payload_base64", std::string_view(base64_encode(payload)));
}

}  // namespace

std::string log_line(const Record& record, bool with_payload) {
  Line line;
  line.text("process", std::string_view(record.process));
  line.number("lane", record.lane);
  line.number("sequence", record.sequence);
  line.text("id", std::string_view(record.id()));
  line.text("previous_id", record.previous_id);
  if (record.late) line.raw("late", "true");
  line.number("epoch", record.epoch);
  line.number("attempt", record.attempt);
  line.text("created_at", std::string_view(rfc3339(record.position.created_at_us)));
  line.text("key", record.key);
  line.text("event_type", record.event_type);
  if (!record.headers.empty()) line.raw("headers", headers_json(record.headers));
  if (with_payload && record.payload) add_payload(line, *record.payload);
  return line.take();
}

LogHandlerConfig read_log_config(Options& options) {
  LogHandlerConfig config;
  config.file = options.text("file");
  config.payload = options.flag("payload", config.payload);
  config.sync = options.flag("sync", config.sync);
  return config;
}

LogHandler::LogHandler(const LogHandlerConfig& config)
    : writer_(config.file, config.sync), with_payload_(config.payload) {}

Outcome LogHandler::handle_record(const Record& record, const CallContext& context) {
  auto problem = writer_.write(log_line(record, with_payload_), context.deadline);
  return problem.empty() ? Outcome::done() : Outcome::retry_later(std::move(problem));
}

}  // namespace seriatim::handlers

namespace seriatim {

void register_log(HandlerRegistry& registry);

void register_log(HandlerRegistry& registry) {
  registry.add({"log", "one JSON line a record, to a file or standard output",
                [](Options& options) -> HandlerFactory {
                  return [config = handlers::read_log_config(options)](unsigned) {
                    return std::make_unique<handlers::LogHandler>(config);
                  };
                }});
}

}  // namespace seriatim

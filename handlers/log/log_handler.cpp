#include "log/log_handler.hpp"

#include "seriatim/handlers.hpp"
#include "support/record_line.hpp"

namespace seriatim::handlers {

std::string log_line(const Record& record, bool with_payload) {
  return record_line(record, with_payload ? PayloadForm::json : PayloadForm::none).take();
}

LogHandlerConfig read_log_config(Options& options) {
  LogHandlerConfig config;
  config.file = options.text("file");
  config.payload = options.flag("payload", config.payload);
  config.sync = options.flag("sync", config.sync);
  return config;
}

LogHandler::LogHandler(const LogHandlerConfig& config)
    : config_(config), writer_(config.file, config.sync) {}

Outcome LogHandler::handle_record(const Record& record, const CallContext& context) {
  auto problem = writer_.write(log_line(record, config_.payload), context.deadline);
  return problem.empty() ? Outcome::done() : Outcome::retry_later(std::move(problem));
}

std::optional<Rendering> LogHandler::render(const Record& record) {
  return Rendering{{{"file", config_.file.empty() ? "standard output" : config_.file}},
                   {},
                   log_line(record, config_.payload)};
}

void register_log(HandlerRegistry& registry) {
  registry.add({"log", "one JSON line a record, to a file or standard output",
                [](Options& options) -> HandlerFactory {
                  return [config = read_log_config(options)](unsigned) {
                    return std::make_unique<LogHandler>(config);
                  };
                }});
}

}  // namespace seriatim::handlers

#include "sql/sql_handler.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "seriatim/handlers.hpp"

namespace seriatim::handlers {

namespace {

std::optional<NamedStatement> read_statement(Options& options, std::string_view key,
                                             const std::string& text) {
  try {
    return NamedStatement(text);
  } catch (const std::invalid_argument& wrong) {
    options.problem(key, wrong.what());
  }
  return std::nullopt;
}

void read_reset(Options& options, ProjectionConfig& config) {
  if (!options.has("reset")) return;
  const auto statement = read_statement(options, "reset", options.text("reset"));
  if (!statement) return;
  if (statement->has_names()) options.problem("reset", "is run for no record: it takes no names");
  config.reset = statement->text();
}

}  // namespace

SqlHandlerConfig read_sql_config(Options& options) {
  SqlHandlerConfig config;
  config.url = options.text("url");
  auto& projection = config.projection;
  if (options.has("statement")) {
    projection.statement = read_statement(options, "statement", options.text("statement"));
  }
  for (const auto& [event_type, text] : options.text_table("on")) {
    if (auto statement = read_statement(options, "on", text)) {
      if (statement->takes_batches()) {
        options.problem("on", "\"" + event_type + "\" takes :records; only `statement` can");
      }
      projection.on.emplace(event_type, std::move(*statement));
    }
  }
  if (!options.has("statement") && projection.on.empty()) {
    options.problem("statement", "is missing: what is to be written for a record");
  }
  if (projection.statement && projection.statement->takes_batches() && !projection.on.empty()) {
    options.problem("on", "a statement over :records gets rows of every event type");
  }
  read_reset(options, projection);
  return config;
}

SqlHandler::SqlHandler(const SqlHandlerConfig& config) : projection_(config.projection) {
  if (!config.url.empty()) target_.emplace(config.url, projection_);
}

BatchOutcome SqlHandler::handle(std::span<const Record> batch, const CallContext& context) {
  if (target_) return target_->apply(batch, context);
  if (context.transaction != nullptr) {
    return projection_.apply(*context.transaction, batch, context);
  }
  return {0, Outcome::poison("the source lends no transaction; name the read model's `url`")};
}

void register_sql(HandlerRegistry& registry) {
  registry.add({"sql", "a statement a record (or a batch), in the cursor's own transaction",
                [](Options& options) -> HandlerFactory {
                  return [config = read_sql_config(options)](unsigned) {
                    return std::make_unique<SqlHandler>(config);
                  };
                },
                true});
}

}  // namespace seriatim::handlers

#include "http/http_handler.hpp"

#include <utility>

#include "http/cloud_event.hpp"
#include "seriatim/registry.hpp"
#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

using Body = HttpHandlerConfig::Body;

Escaping escaping_of(const HttpHandlerConfig& config) {
  return config.content_type.find("json") != std::string::npos ? Escaping::json : Escaping::none;
}

const std::string& stored_payload(const Record& record) {
  if (!record.payload) throw CannotRender("the payload is NULL: there is nothing to send");
  return *record.payload;
}

std::int64_t unix_seconds(std::chrono::system_clock::time_point at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

}  // namespace

HttpHandler::HttpHandler(HttpHandlerConfig config)
    : config_(std::move(config)),
      body_template_(config_.body_template, escaping_of(config_)),
      signer_(config_.secrets),
      sender_(config_.target) {
  for (const std::string_view secret : config_.secrets) {
    sender_.hide(secret);
    sender_.hide(base64_of_webhook_secret(secret));  // people copy it without its "whsec_"
  }
}

Outcome HttpHandler::handle_record(const Record& record, const CallContext& context) {
  try {
    TemplateValues values(record);
    std::string made;
    const auto body = body_of(record, values, made);
    const HttpMessage message{headers_of(record, body), body, {body}};
    return sender_.judge(sender_.post(record, values, message, context), message);
  } catch (const CannotRender& e) {
    return Outcome::poison(e.what());
  }
}

std::string_view HttpHandler::body_of(const Record& record, TemplateValues& values,
                                      std::string& made) const {
  switch (config_.body) {
    case Body::rendered: return made = body_template_.render(values);
    case Body::cloudevents_structured: return made = cloud_event_json(record, config_.content_type);
    case Body::payload:
    case Body::cloudevents: break;
  }
  return stored_payload(record);
}

std::vector<Header> HttpHandler::headers_of(const Record& record, std::string_view body) const {
  const bool structured = config_.body == Body::cloudevents_structured;
  std::vector<Header> headers{
      {"Content-Type", structured ? "application/cloudevents+json" : config_.content_type}};
  if (config_.body == Body::cloudevents) {
    for (auto& header : cloud_event_headers(record)) headers.push_back(std::move(header));
  }
  if (config_.secrets.empty()) return headers;
  // The id stays the same at every attempt, the time does not: receivers refuse old ones.
  const auto id = header_encode(record.idempotency_key());
  const auto timestamp = unix_seconds(config_.now());
  headers.emplace_back("webhook-id", id);
  headers.emplace_back("webhook-timestamp", std::to_string(timestamp));
  headers.emplace_back("webhook-signature", signer_.sign(id, timestamp, body));
  return headers;
}

}  // namespace seriatim::handlers

namespace seriatim {

void register_http(HandlerRegistry& registry);

void register_http(HandlerRegistry& registry) {
  registry.add({"http", "a webhook: one POST a record", [](Options& options) -> HandlerFactory {
                  auto config = handlers::read_http_config(options);
                  return [config = std::move(config)](unsigned) {
                    return std::make_unique<handlers::HttpHandler>(config);
                  };
                }});
}

}  // namespace seriatim

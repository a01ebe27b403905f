#include "http/http_handler.hpp"

#include <utility>

#include "seriatim/handlers.hpp"
#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

constexpr const char* timestamp_header = "webhook-timestamp";
constexpr const char* signature_header = "webhook-signature";

std::int64_t unix_seconds(std::chrono::system_clock::time_point at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

}  // namespace

HttpHandler::HttpHandler(HttpHandlerConfig config)
    : config_(std::move(config)),
      form_(config_.form),
      signer_(config_.secrets),
      sender_(config_.target) {
  for (const std::string_view secret : config_.secrets) {
    sender_.hide(secret);
    sender_.hide(base64_of_webhook_secret(secret));  // people copy it without its "whsec_"
  }
}

Outcome HttpHandler::handle_record(const Record& record, const CallContext& context) {
  TemplateValues values(record);
  const auto body = form_.body_of(record, values);
  const auto message = message_of(record, body);
  return sender_.judge(sender_.post(record, values, message, context), record, message);
}

std::optional<Rendering> HttpHandler::render(const Record& record) {
  TemplateValues values(record);
  const auto body = form_.body_of(record, values);
  auto rendering = sender_.render(record, values, message_of(record, body));
  for (auto& [name, value] : rendering.headers) {
    if (name == timestamp_header) value = "<time of the call>";
    if (name == signature_header) value = masked;
  }
  return rendering;
}

HttpMessage HttpHandler::message_of(const Record& record, const MessageBody& body) {
  const auto bytes = body.bytes();
  if (!bytes) throw CannotRender("the payload is NULL: there is nothing to send");
  write_headers(record, *bytes);
  return {headers_, *bytes, {*bytes}};
}

void HttpHandler::write_headers(const Record& record, std::string_view body) {
  headers_.clear();
  headers_.add("Content-Type", form_.content_type());
  for (const auto& [name, value] : form_.attributes_of(record)) {
    headers_.add("ce-" + name, header_encode(value));
  }
  if (config_.secrets.empty()) return;
  // The id stays the same at every attempt. The time is new each time: receivers refuse old times.
  const auto id = header_encode(record.idempotency_key());
  const auto timestamp = unix_seconds(config_.now());
  headers_.add("webhook-id", id);
  headers_.add(timestamp_header, std::to_string(timestamp));
  headers_.add(signature_header, signer_.sign(id, timestamp, body));
}

void register_http(HandlerRegistry& registry) {
  registry.add({"http", "a webhook: one POST a record", [](Options& options) -> HandlerFactory {
                  auto config = read_http_config(options);
                  return [config = std::move(config)](unsigned) {
                    return std::make_unique<HttpHandler>(config);
                  };
                }});
}

}  // namespace seriatim::handlers

#include "app/redacted_handler.hpp"

#include <algorithm>
#include <utility>

#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

/// Of "…?token=x&page=2" the values whose names say that they are secret.
void mask_parameters(std::string& url) {
  for (auto at = url.find('?'); at != std::string::npos; at = url.find('&', at + 1)) {
    const auto end = std::min(url.find('&', at + 1), url.size());
    const auto equals = url.find('=', at);
    if (equals < end && names_a_secret(url.substr(at, equals - at))) {
      url.replace(equals + 1, end - equals - 1, masked);
    }
  }
}

class RedactedHandler final : public Handler {
 public:
  RedactedHandler(std::unique_ptr<Handler> handler, const Secrets& secrets)
      : handler_(std::move(handler)), secrets_(secrets) {}

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override try {
    auto answer = handler_->handle(batch, context);
    if (answer.next) answer.next->reason = secrets_.redact(answer.next->reason);
    return answer;
  } catch (const std::exception& thrown) {
    throw Error(secrets_.redact(thrown.what()));
  }

  std::optional<Rendering> render(const Record& record) override try {
    auto rendering = handler_->render(record);
    if (!rendering) return std::nullopt;
    for (auto* list : {&rendering->envelope, &rendering->headers}) {
      for (auto& [name, value] : *list) {
        if (name == "url") mask_parameters(value);
        value = names_a_secret(name) ? masked : secrets_.redact(value);
      }
    }
    if (rendering->body) rendering->body = secrets_.redact(*rendering->body);
    return rendering;
  } catch (const std::exception& thrown) {
    throw Error(secrets_.redact(thrown.what()));
  }

  std::unique_ptr<CallThread> make_call_thread() override { return handler_->make_call_thread(); }

 private:
  std::unique_ptr<Handler> handler_;
  const Secrets& secrets_;
};

}  // namespace

HandlerFactory redacted(HandlerFactory factory, const Secrets& secrets) {
  return [factory = std::move(factory), &secrets](unsigned lane) -> std::unique_ptr<Handler> {
    return std::make_unique<RedactedHandler>(factory(lane), secrets);
  };
}

}  // namespace seriatim::app

#include "app/redacted_handler.hpp"

#include <utility>

#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

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

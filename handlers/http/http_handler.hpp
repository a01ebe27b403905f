#pragma once

#include "http/http_config.hpp"
#include "seriatim/handler.hpp"
#include "support/fiber_thread.hpp"
#include "support/http_sender.hpp"
#include "support/message_form.hpp"
#include "support/webhook_signature.hpp"

namespace seriatim::handlers {

/// A webhook: one POST a record. What answers mean is in README.md in this folder.
class HttpHandler final : public RecordHandler {
 public:
  /// Throws CannotRender for a configuration that `read_http_config` would have complained about.
  explicit HttpHandler(HttpHandlerConfig config);

  Outcome handle_record(const Record& record, const CallContext& context) override;
  std::optional<Rendering> render(const Record& record) override;
  std::unique_ptr<CallThread> make_call_thread() override { return make_fiber_thread(); }

 private:
  [[nodiscard]] HttpMessage message_of(const Record& record, const MessageBody& body);
  void write_headers(const Record& record, std::string_view body);

  HttpHandlerConfig config_;
  MessageForm form_;
  WebhookSigner signer_;
  HttpSender sender_;
  HeaderLines headers_;  ///< those that this kind adds, for the record that is sent
};

}  // namespace seriatim::handlers

#pragma once

#include "seriatim/handler.hpp"
#include "sms/sms_config.hpp"
#include "support/fiber_thread.hpp"
#include "support/http_sender.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// A text message: one form POST a record, in the shape the large providers share (To, From, Body
/// and basic authentication). What answers mean is in README.md in this folder.
class SmsHandler final : public RecordHandler {
 public:
  /// Throws CannotRender for a configuration that `read_sms_config` would have complained about.
  explicit SmsHandler(SmsHandlerConfig config);

  Outcome handle_record(const Record& record, const CallContext& context) override;
  std::optional<Rendering> render(const Record& record) override;
  std::unique_ptr<CallThread> make_call_thread() override { return make_fiber_thread(); }

 private:
  struct Text {
    std::string to;
    std::string text;
    std::string form;  ///< of the request

    [[nodiscard]] HttpMessage message(const HeaderLines& headers) const;
  };
  [[nodiscard]] Text text_of(TemplateValues& values) const;

  Template to_;
  Template from_;
  Template body_;
  HttpSender sender_;
  HeaderLines headers_;  ///< the same for all records
};

}  // namespace seriatim::handlers

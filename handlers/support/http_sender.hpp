#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "seriatim/handler.hpp"
#include "support/excerpt.hpp"
#include "support/http_client.hpp"
#include "support/http_target.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// What a kind of handler adds to a request.
struct HttpMessage {
  const HeaderLines& headers;  ///< Content-Type and its own
  std::string_view body;
  std::vector<std::string_view> hidden;  ///< parts of the record that must not appear in reasons
};

/// POSTs records to one target: delivery headers, credentials, deadline, classification.
///
/// Threads: one user at a time.
class HttpSender {
 public:
  explicit HttpSender(HttpTarget target);

  /// Texts that never appear in a reason; the target's own secrets are known already.
  void hide(std::string_view secret) { redactor_.add(secret); }

  /// What `post` sends. The values of `headers` and credentials are masked, and so are long parts
  /// of the configured path and query.
  [[nodiscard]] Rendering render(const Record& record, TemplateValues& values,
                                 const HttpMessage& message);
  /// Throws CannotRender where record and target do not fit, as `render` does.
  [[nodiscard]] HttpResult post(const Record& record, TemplateValues& values,
                                const HttpMessage& message, const CallContext& context);
  /// What the result means for the record. Halts at the third answer in a row that cannot be read.
  [[nodiscard]] Outcome judge(const HttpResult& result, const Record& record,
                              const HttpMessage& message);

 private:
  [[nodiscard]] const Url& url_for(TemplateValues& values);
  [[nodiscard]] const HeaderLines& fixed_lines();
  [[nodiscard]] HttpRequest request_of(const Record& record, TemplateValues& values,
                                       const HttpMessage& message);
  void hide_target();
  [[nodiscard]] Outcome count_unreadable(const Record& record, Outcome outcome);

  HttpTarget target_;
  Template url_template_;
  std::optional<Url> url_;       ///< the same for all records, or that of the last one
  std::vector<Header> headers_;  ///< the same for all records
  HeaderLines fixed_lines_;      ///< … as they go out, once they are checked
  HeaderLines lines_;            ///< of the record in flight
  Redactor redactor_;
  Redactor target_redactor_{masked};  ///< of what follows the host in the URL
  HttpClient client_;
  /// Kept here only: a program that starts anew, or another holder, counts from one again.
  std::string unreadable_for_;      ///< id of the row they came for
  unsigned unreadable_in_row_ = 0;  ///< answers; lost ones do not count, and do not end the row
};

}  // namespace seriatim::handlers

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "seriatim/options.hpp"
#include "seriatim/record.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

struct MessageFormConfig {
  enum class Body {
    payload,                 ///< the bytes as stored
    cloudevents,             ///< the same bytes; the event's attributes next to them
    cloudevents_structured,  ///< one JSON envelope
    rendered,                ///< `body_template`
  };

  Body body = Body::payload;
  std::string body_template;
  std::string content_type = "application/json";  ///< of the payload, or of what is rendered
  /// Named by the table, or the form has one: to be sent if others go without.
  bool sends_content_type = false;
};

/// Reads `body`, `template` and `content_type`; problems are noted there.
[[nodiscard]] MessageFormConfig read_message_form(Options& options);

/// The body of one message.
///
/// Lifetime: it may refer to the record it was made of.
class MessageBody {
 public:
  explicit MessageBody(const Record& record) : record_(&record) {}
  explicit MessageBody(std::string made) : made_(std::move(made)) {}

  /// Absent where the payload is NULL and is all there is to send: what that means (a tombstone,
  /// a record that cannot be sent) is the caller's to say.
  [[nodiscard]] std::optional<std::string_view> bytes() const;

 private:
  const Record* record_ = nullptr;  ///< its payload; null: `made_`
  std::string made_;
};

/// How records become messages, the same for all protocols.
class MessageForm {
 public:
  /// Throws CannotRender for a configuration that `read_message_form` would have complained about.
  explicit MessageForm(MessageFormConfig config);

  /// Throws CannotRender where the template wants what the record lacks.
  [[nodiscard]] MessageBody body_of(const Record& record) const;
  /// `values` are the record's: if other templates read it too, it is parsed once.
  [[nodiscard]] MessageBody body_of(const Record& record, TemplateValues& values) const;

  [[nodiscard]] const std::string& content_type() const { return content_type_; }
  [[nodiscard]] bool sends_content_type() const { return config_.sends_content_type; }

  /// CloudEvents in binary mode: its attributes by their bare names (`id`, `source` …), for the
  /// protocol's binding to prefix and encode; empty in every other form. `datacontenttype` is not
  /// among them: it is the message's content type.
  [[nodiscard]] std::vector<Header> attributes_of(const Record& record) const;

 private:
  MessageFormConfig config_;
  std::string content_type_;
  Template template_;
};

}  // namespace seriatim::handlers

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "seriatim/record.hpp"

namespace seriatim::handlers {

/// A record as templates see it: `payload`, `payload.a.b`, `headers.name`, `id`, `key`,
/// `event_type`, `process`, `lane`, `sequence`, `epoch`, `attempt`, `previous_id`, `created_at`.
/// The payload is parsed when a template first reads it, and once only.
class TemplateValues {
 public:
  explicit TemplateValues(const Record& record);  ///< keeps a reference
  ~TemplateValues();
  TemplateValues(const TemplateValues&) = delete;
  TemplateValues& operator=(const TemplateValues&) = delete;

  class Impl;

 private:
  friend class Template;
  const Record& record_;
  std::unique_ptr<Impl> impl_;  ///< made when a template first reads it
};

/// How a value is written into the text around it. `{{{x}}}` and `{{&x}}` write it unescaped.
enum class Escaping {
  none,
  json,  ///< the inside of a JSON string
  url,   ///< percent-encoded; unescaped tags are refused
};

/// A mustache template over a record. A value the record lacks (or that is null, an object or a
/// list) is an error, never empty text; sections (`{{#x}}…{{/x}}`, `{{^x}}…{{/x}}`) ask first.
/// Partials and other delimiters are refused.
class Template {
 public:
  /// Throws CannotRender for a template that is wrong in itself.
  Template(const std::string& text, Escaping escaping);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// Throws CannotRender; the message names the value, never quotes it.
  [[nodiscard]] std::string render(TemplateValues& values) const;
  /// Whether the text is the same for all records.
  [[nodiscard]] bool is_constant() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers

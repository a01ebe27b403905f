#pragma once

#include <string>

namespace seriatim::handlers {

/// A template made ready for kainjow::mustache, which renders what is missing as empty text and
/// does not show a context whether a tag prints a value or opens a section: tags that print get
/// `printed_mark` before their name.
struct TemplateText {
  static constexpr char printed_mark = '$';

  std::string text;
  bool has_tags = false;
  bool has_unescaped = false;
};

/// Throws CannotRender for partials, other delimiters, and names no record has.
[[nodiscard]] TemplateText prepare_template(const std::string& text);

}  // namespace seriatim::handlers

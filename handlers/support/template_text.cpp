#include "support/template_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

constexpr std::array<std::string_view, 14> known_names = {
    "payload",  "headers", "id",      "key",         "event_type", "process", "lane",
    "sequence", "epoch",   "attempt", "previous_id", "created_at", "late",    "."};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_known(std::string_view name) {
  const auto first = name == "." ? name : name.substr(0, name.find('.'));
  return std::find(known_names.begin(), known_names.end(), first) != known_names.end();
}

class Scanner {
 public:
  explicit Scanner(const std::string& input) : rest_(input) {}

  TemplateText scan() {
    for (;;) {
      const auto open = rest_.find("{{");
      out_.text += rest_.substr(0, open);
      if (open == std::string_view::npos) return std::move(out_);
      rest_.remove_prefix(open + 2);
      take_tag();
    }
  }

 private:
  void take_tag() {
    out_.has_tags = true;
    const bool triple = rest_.starts_with('{');
    const std::string_view end = triple ? "}}}" : "}}";
    if (triple) rest_.remove_prefix(1);
    const auto close = rest_.find(end);
    if (close == std::string_view::npos) throw CannotRender("a tag {{ is not closed by }}");
    const auto content = trimmed(rest_.substr(0, close));
    rest_.remove_prefix(close + end.size());
    if (triple) return print(content, true);
    take_content(content);
  }

  void take_content(std::string_view content) {
    if (content.empty()) throw CannotRender("an empty tag {{}}");
    const auto name = trimmed(content.substr(1));
    switch (content[0]) {
      case '!': return;
      case '>': throw CannotRender("partials {{>…}} are not supported");
      case '=': throw CannotRender("other delimiters {{=…=}} are not supported");
      case '&': return print(name, true);
      case '#':
      case '^': check(name), ++depth_; break;
      case '/': --depth_; break;
      default: return print(content, false);
    }
    out_.text += "{{" + std::string(content) + "}}";
  }

  void print(std::string_view name, bool unescaped) {
    check(name);
    out_.has_unescaped = out_.has_unescaped || unescaped;
    out_.text += std::string("{{") + (unescaped ? "&" : "") + TemplateText::printed_mark;
    out_.text += std::string(name) + "}}";
  }

  // Inside a section names may belong to its own object.
  void check(std::string_view name) const {
    if (depth_ > 0 || is_known(name)) return;
    throw CannotRender("no record has {{" + std::string(name) +
                       "}}; names start with payload, headers, id, key, event_type, …");
  }

  std::string_view rest_;
  TemplateText out_;
  int depth_ = 0;
};

}  // namespace

TemplateText prepare_template(const std::string& text) {
  return Scanner(text).scan();
}

}  // namespace seriatim::handlers

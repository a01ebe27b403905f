#include "support/answer_head.hpp"

#include <algorithm>

namespace seriatim::handlers {

namespace {

// 'd' is any digit, 'D' any but 0, '_' a space or the end of the line.
constexpr std::string_view status_line_form = "HTTP/d.d Ddd_";
constexpr std::size_t after_code = status_line_form.size() - 1;

bool fits(char byte, char form) {
  if (form == 'd') return byte >= '0' && byte <= '9';
  if (form == 'D') return byte >= '1' && byte <= '9';
  if (form == '_') return byte == ' ' || byte == '\r' || byte == '\n';
  return byte == form;
}

}  // namespace

bool may_begin_answer(std::string_view bytes) {
  const auto size = std::min(bytes.size(), status_line_form.size());
  return std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size),
                    status_line_form.begin(), fits);
}

std::size_t head_size(std::string_view bytes, std::size_t& line) {
  for (;;) {
    const auto end = bytes.find('\n', line);
    if (end == std::string_view::npos) return 0;
    const bool blank = end == line || (end == line + 1 && bytes[line] == '\r');
    line = end + 1;
    if (blank) return line;
  }
}

void make_strict(std::string_view head, StrictHead& strict) {
  auto& [text, has_bare_line] = strict;
  text.clear();
  has_bare_line = false;
  while (!head.empty()) {
    auto line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    } else {
      has_bare_line = true;
    }
    const bool lacks_space = text.empty() && line.size() == after_code;
    text.append(line).append(lacks_space ? " \r\n" : "\r\n");
  }
}

}  // namespace seriatim::handlers

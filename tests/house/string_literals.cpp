#include "house/string_literals.hpp"

#include <algorithm>
#include <cctype>

namespace seriatim::testing {

namespace {

class Reader {
 public:
  explicit Reader(const std::string& code) : code_(code) {}

  std::vector<std::string> literals() {
    bool adjacent = false;  // nothing but blanks and comments since the last literal
    while (at_ < code_.size()) {
      if (skip_comment() || skip_blank()) continue;
      if (code_[at_] == '"') {
        const auto text = at_ > 0 && code_[at_ - 1] == 'R' ? raw() : plain('"');
        if (adjacent) {
          found_.back() += text;
        } else {
          found_.push_back(text);
        }
        adjacent = true;
        continue;
      }
      adjacent = adjacent && code_[at_] == 'R' && at_ + 1 < code_.size() && code_[at_ + 1] == '"';
      if (code_[at_] == '\'' && !after_digit()) {
        plain('\'');
      } else {
        ++at_;
      }
    }
    return std::move(found_);
  }

 private:
  bool skip_comment() {
    if (code_.compare(at_, 2, "//") == 0) return skip_past("\n");
    return code_.compare(at_, 2, "/*") == 0 && skip_past("*/");
  }
  bool skip_past(const std::string& end) {
    const auto found = code_.find(end, at_);
    at_ = found == std::string::npos ? code_.size() : found + end.size();
    return true;
  }
  bool skip_blank() {
    const bool blank = std::isspace(static_cast<unsigned char>(code_[at_])) != 0;
    if (blank) ++at_;
    return blank;
  }
  [[nodiscard]] bool after_digit() const {
    return at_ > 0 && std::isalnum(static_cast<unsigned char>(code_[at_ - 1])) != 0;
  }
  std::string plain(char quote) {
    const auto begin = ++at_;
    while (at_ < code_.size() && code_[at_] != quote) at_ += code_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, code_.size());
    return code_.substr(begin, at_ - 1 - begin);
  }
  std::string raw() {
    const auto open = code_.find('(', at_);
    const auto end = ")" + code_.substr(at_ + 1, open - at_ - 1) + "\"";
    const auto close = code_.find(end, open);
    at_ = std::min(close + end.size(), code_.size());
    return code_.substr(open + 1, close - open - 1);
  }

  const std::string& code_;
  std::size_t at_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> string_literals(const std::string& code) {
  return Reader(code).literals();
}

}  // namespace seriatim::testing

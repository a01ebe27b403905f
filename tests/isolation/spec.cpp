#include "isolation/spec.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace seriatim::isolation {

namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// Words, and blocks between braces, which may hold braces in pairs.
class Tokens {
 public:
  explicit Tokens(const std::filesystem::path& file) : name_(file.filename().string()) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("no spec " + file.string());
    text_.assign(std::istreambuf_iterator<char>(in), {});
    pass_over_blanks();
  }

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] bool at_block() const { return !at_end() && text_[at_] == '{'; }
  [[nodiscard]] std::string peek() const {
    return text_.substr(at_, text_.find_first_of(" \t\n{", at_) - at_);
  }
  std::string word() {
    auto found = peek();
    if (found.empty()) fail("a word");
    at_ += found.size();
    pass_over_blanks();
    return found;
  }
  std::string block() {
    if (!at_block()) fail("a block");
    unsigned depth = 0;
    const auto begin = at_;
    do {
      if (at_end()) fail("a closing brace");
      if (text_[at_] == '{') ++depth;
      if (text_[at_] == '}') --depth;
      ++at_;
    } while (depth > 0);
    auto found = trimmed(text_.substr(begin + 1, at_ - begin - 2));
    pass_over_blanks();
    return found;
  }
  /// The words up to the end of the line.
  std::vector<std::string> line() {
    std::vector<std::string> words;
    const auto end = text_.find('\n', at_);
    while (!at_end() && at_ < end) words.push_back(word());
    return words;
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw std::runtime_error(name_ + ": expected " + expected + ", found \"" +
                             text_.substr(at_, 40) + '"');
  }

 private:
  void pass_over_blanks() {
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size());
      if (at_end() || text_[at_] != '#') return;
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
  }

  std::string name_;
  std::string text_;
  std::size_t at_ = 0;
};

OrderBy read_order(Tokens& tokens) {
  const auto found = tokens.word();
  if (found == "id") return OrderBy::id;
  if (found == "created_at") return OrderBy::created_at;
  tokens.fail("created_at or id before");
}

Step read_step(Tokens& tokens, const SessionSpec& session) {
  Step step;
  step.name = tokens.word();
  if (session.name == "relay") {
    step.alternatives.push_back(tokens.word());
    return step;
  }
  step.alternatives.push_back(tokens.block());
  while (!tokens.at_end() && tokens.peek() == "or") {
    tokens.word();
    step.alternatives.push_back(tokens.block());
  }
  return step;
}

void read_entry(Tokens& tokens, Spec& spec) {
  const auto keyword = tokens.word();
  if (keyword == "order") {
    spec.orders = {read_order(tokens)};
  } else if (keyword == "needs") {
    spec.needs = static_cast<unsigned>(std::stoul(tokens.word()));
  } else if (keyword == "reads") {
    spec.reads = tokens.word();
  } else if (keyword == "blind") {
    spec.blind.push_back(read_order(tokens));
  } else if (keyword == "setup") {
    spec.setup = tokens.block();
  } else if (keyword == "reset") {
    spec.reset = tokens.block();
  } else if (keyword == "session") {
    spec.sessions.push_back({tokens.word(), {}});
  } else if (keyword == "step" && !spec.sessions.empty()) {
    spec.sessions.back().steps.push_back(read_step(tokens, spec.sessions.back()));
  } else if (keyword == "permutations") {
    if (tokens.word() != "all") tokens.fail("all");
    spec.all = true;
  } else if (keyword == "permutation") {
    spec.listed.push_back({tokens.line(), ""});
  } else if (keyword == "expect" && !spec.listed.empty()) {
    spec.listed.back().expected = tokens.block();
  } else {
    tokens.fail("a keyword before");
  }
}

}  // namespace

Spec read_spec(const std::filesystem::path& file) {
  Tokens tokens(file);
  Spec spec;
  spec.name = file.stem().string();
  spec.orders = {OrderBy::created_at, OrderBy::id};
  spec.setup = standard_table;
  spec.reset = "DELETE FROM t";
  while (!tokens.at_end()) read_entry(tokens, spec);
  if (!spec.all && spec.listed.empty()) tokens.fail("permutations");
  return spec;
}

}  // namespace seriatim::isolation

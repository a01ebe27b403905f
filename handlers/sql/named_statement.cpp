#include "sql/named_statement.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "sql/target.hpp"
#include "support/record_line.hpp"
#include "support/time_text.hpp"

namespace seriatim::handlers {

namespace {

using Value = std::optional<std::string>;

struct Field {
  std::string_view name;
  Value (*value)(const Record&);
};

constexpr std::array fields{
    Field{"id", [](const Record& r) -> Value { return r.id(); }},
    Field{"key", [](const Record& r) { return r.key; }},
    Field{"event_type", [](const Record& r) { return r.event_type; }},
    Field{"payload", [](const Record& r) { return r.payload; }},
    Field{"headers", [](const Record& r) -> Value { return headers_json(r.headers); }},
    Field{"created_at", [](const Record& r) -> Value { return rfc3339(r.position.created_at_us); }},
    Field{"sequence", [](const Record& r) -> Value { return std::to_string(r.sequence); }},
    Field{"idempotency_key", [](const Record& r) -> Value { return r.idempotency_key(); }},
    Field{"previous_id", [](const Record& r) { return r.previous_id; }},
    Field{"process", [](const Record& r) -> Value { return r.process; }},
    Field{"lane", [](const Record& r) -> Value { return std::to_string(r.lane); }},
    Field{"epoch", [](const Record& r) -> Value { return std::to_string(r.epoch); }},
    Field{"attempt", [](const Record& r) -> Value { return std::to_string(r.attempt); }},
    Field{"late", [](const Record& r) -> Value { return r.late ? "true" : "false"; }},
};

const Field* find_field(std::string_view name) {
  const auto* found = std::find_if(fields.begin(), fields.end(),
                                   [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : found;
}

std::string known_names() {
  std::string names = ":records";
  for (const auto& field : fields) names.append(", :").append(field.name);
  return names;
}

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

/// Walks over SQL as PostgreSQL's lexer would, as far as names and ends of statements need.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }

  /// The next piece: a literal, comment, quoted name, word, `::`, or one character.
  std::string_view next() {
    const auto begin = at_;
    at_ = end_of_piece();
    return text_.substr(begin, at_ - begin);
  }

 private:
  [[nodiscard]] std::size_t end_of_piece() const {
    const char c = text_[at_];
    if (c == '\'') return after_quote(at_, '\'', false);
    if (c == '"') return after_quote(at_, '"', false);
    if ((c == 'E' || c == 'e') && peek(1) == '\'') return after_quote(at_ + 1, '\'', true);
    if (c == '-' && peek(1) == '-') return std::min(text_.find('\n', at_), text_.size());
    if (c == '/' && peek(1) == '*') return after_comment();
    if (c == '$') return after_dollar();
    if (c == ':' && peek(1) == ':') return at_ + 2;
    if (c == ':' && is_name_start(peek(1))) return after_word(at_ + 1);
    return is_name_start(c) ? after_word(at_) : at_ + 1;
  }

  [[nodiscard]] char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] std::size_t after_word(std::size_t at) const {
    while (at < text_.size() && is_name_part(text_[at])) ++at;
    return at;
  }
  /// A doubled quote is two literals to us, which comes to the same.
  [[nodiscard]] std::size_t after_quote(std::size_t open, char quote, bool backslashes) const {
    for (auto at = open + 1; at < text_.size(); ++at) {
      if (backslashes && text_[at] == '\\') {
        ++at;
      } else if (text_[at] == quote) {
        return at + 1;
      }
    }
    throw std::invalid_argument(std::string("a ") + quote + " is not closed");
  }
  [[nodiscard]] std::size_t after_comment() const {
    std::size_t depth = 0;
    for (auto at = at_; at + 1 < text_.size(); ++at) {
      const auto pair = text_.substr(at, 2);
      if (pair == "/*") ++depth, ++at;
      if (pair == "*/" && (++at, --depth == 0)) return at + 1;
    }
    throw std::invalid_argument("a comment is not closed");
  }
  [[nodiscard]] std::size_t after_dollar() const {
    auto end = at_ + 1;
    while (end < text_.size() && is_name_part(text_[end]) && text_[end] != '$') ++end;
    if (end >= text_.size() || text_[end] != '$') return end;  // $1
    const auto tag = text_.substr(at_, end + 1 - at_);
    const auto close = text_.find(tag, end + 1);
    if (close == std::string_view::npos) {
      throw std::invalid_argument(std::string(tag) + " is not closed");
    }
    return close + tag.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_blank(std::string_view piece) {
  return piece.starts_with("--") || piece.starts_with("/*") ||
         std::all_of(piece.begin(), piece.end(),
                     [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
}

/// The lane ends its transaction itself.
void refuse_transaction_control(std::string_view word) {
  static constexpr std::array<std::string_view, 10> control{
      "begin",     "start", "commit",  "end",     "rollback",
      "savepoint", "abort", "release", "prepare", "discard"};
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::find(control.begin(), control.end(), lower) == control.end()) return;
  throw std::invalid_argument("\"" + lower +
                              "\": the transaction is the lane's, which ends it with the cursor");
}

}  // namespace

NamedStatement::NamedStatement(const std::string& text) {
  bool begun = false;
  bool ended = false;
  for (Scanner scanner(text); !scanner.at_end();) {
    const auto piece = scanner.next();
    const bool blank = is_blank(piece);
    if (ended && !blank) {
      throw std::invalid_argument(
          "holds several statements; put them into a function, or use WITH");
    }
    ended = ended || piece == ";";
    if (!blank && !ended && !std::exchange(begun, true)) refuse_transaction_control(piece);
    if (piece.size() > 1 && piece[0] == ':' && piece != "::") {
      name(std::string(piece.substr(1)));
    } else {
      text_ += ended ? std::string_view(" ") : piece;
    }
  }
  if (!begun) throw std::invalid_argument("holds no statement");
  if (takes_batches_ && !names_.empty()) {
    throw std::invalid_argument("names :records and :" + names_.front() +
                                "; values of a batch are columns of :records");
  }
}

void NamedStatement::name(const std::string& name) {
  if (name == "records") {
    takes_batches_ = true;
    text_ += sql::target::records;
    return;
  }
  if (find_field(name) == nullptr) {
    throw std::invalid_argument("no record has :" + name + "; there are " + known_names());
  }
  auto known = std::find(names_.begin(), names_.end(), name);
  if (known == names_.end()) known = names_.insert(names_.end(), name);
  text_ += '$' + std::to_string(known - names_.begin() + 1);
}

Transaction::Params NamedStatement::params(const Record& record) const {
  Transaction::Params values;
  for (const auto& name : names_) values.push_back(find_field(name)->value(record));
  return values;
}

RecordColumns::RecordColumns(std::span<const Record> batch) {
  std::vector<std::int64_t> sequence, created_us;
  std::vector<std::optional<std::string_view>> id, key, event_type, payload, headers;
  for (const auto& record : batch) {
    sequence.push_back(static_cast<std::int64_t>(record.sequence));
    id.emplace_back(record.id());
    key.emplace_back(record.key);
    event_type.emplace_back(record.event_type);
    payload.emplace_back(record.payload);
    headers.emplace_back(record.headers.empty()
                             ? std::string_view("{}")
                             : headers_.emplace_back(headers_json(record.headers)));
    created_us.push_back(record.position.created_at_us);
  }
  const auto& process = batch.empty() ? std::string_view() : batch.front().process;
  values_ = {std::move(sequence),   std::move(id),
             std::move(key),        std::move(event_type),
             std::move(payload),    std::move(headers),
             std::move(created_us), std::vector{std::optional<std::string_view>(process)}};
}

}  // namespace seriatim::handlers

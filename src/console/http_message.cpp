#include "console/http_message.hpp"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace seriatim::console {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Takes what is before `mark` off `text`, and the mark.
std::string_view take_until(std::string_view& text, char mark) {
  const auto part = text.substr(0, text.find(mark));
  text.remove_prefix(part.size() < text.size() ? part.size() + 1 : part.size());
  return part;
}

/// The JSON parser knows what UTF-8 is: of plain text only quotes, backslashes and control
/// characters mean more to it.
bool is_utf8(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const bool special = c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ';
    quoted += special ? ' ' : c;
  }
  boost::system::error_code wrong;
  (void)boost::json::parse(quoted + '"', wrong);
  return !wrong;
}

}  // namespace

const char* to_string(Role role) {
  switch (role) {
    case Role::none: return "";
    case Role::reader: return "reader";
    case Role::viewer: return "viewer";
    case Role::operator_: return "operator";
  }
  return "";
}

std::string HttpRequest::header(const std::string& lower_name) const {
  const auto found = headers.find(lower_name);
  return found == headers.end() ? "" : found->second;
}

std::optional<std::string> HttpRequest::parameter(std::string_view name) const {
  for (std::string_view rest = query; !rest.empty();) {
    auto pair = take_until(rest, '&');
    if (take_until(pair, '=') == name) return percent_decoded(pair, true);
  }
  return std::nullopt;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += plus && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (out.find('\0') != std::string::npos || !is_utf8(out)) return std::nullopt;
  return out;
}

std::optional<std::map<std::string, std::string>> match(std::string_view pattern,
                                                        std::string_view path) {
  std::map<std::string, std::string> values;
  while (!pattern.empty() || !path.empty()) {
    if (pattern.empty() != path.empty()) return std::nullopt;
    const bool last = pattern.find('/') == std::string_view::npos;
    if (last != (path.find('/') == std::string_view::npos)) return std::nullopt;
    const auto wanted = take_until(pattern, '/');
    const auto given = take_until(path, '/');
    if (!wanted.starts_with('{')) {
      if (wanted != given) return std::nullopt;
      continue;
    }
    auto value = percent_decoded(given);
    if (!value || value->empty() || *value == "." || *value == "..") return std::nullopt;
    values.emplace(wanted.substr(1, wanted.size() - 2), std::move(*value));
  }
  return values;
}

bool is_plain_text(std::string_view text) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  return !control && is_utf8(text);
}

HttpResponse problem(unsigned status, std::string_view detail, std::string_view remedy,
                     std::string_view now) {
  const auto phrase =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  boost::json::object object{{"type", "about:blank"},
                             {"title", std::string(phrase)},
                             {"status", status},
                             {"detail", detail}};
  if (!remedy.empty()) object.emplace("remedy", remedy);
  boost::system::error_code wrong;
  if (!now.empty()) object.emplace("now", boost::json::parse(now, wrong));
  return {status, boost::json::serialize(object), "application/problem+json", {}, {}};
}

HttpResponse refusal(std::string_view path, unsigned status, std::string_view detail,
                     std::string_view remedy) {
  if (path.starts_with("/api/")) return problem(status, detail, remedy);
  std::string text(detail);
  if (!remedy.empty()) text.append("; ").append(remedy);
  return {status, text + '\n'};
}

}  // namespace seriatim::console

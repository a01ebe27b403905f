#include "app/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <sstream>

namespace seriatim::app {

namespace {

constexpr std::string_view mask = "***";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::optional<int> hex_digit(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto at = digits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return at == std::string_view::npos ? std::nullopt : std::optional(static_cast<int>(at));
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    result += low ? static_cast<char>(*high * 16 + *low) : text[i];
    if (low) i += 2;
  }
  return result;
}

/// "…://user:PASSWORD@…": where PASSWORD is. The last '@' before the path ends it, because people
/// forget to encode one.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::optional<Span> password_in_url(std::string_view text, std::size_t from) {
  for (auto scheme = text.find("://", from); scheme != std::string_view::npos;
       scheme = text.find("://", scheme + 3)) {
    const auto authority = scheme + 3;
    const auto end = std::min(text.find_first_of("/?# \t\n\"'", authority), text.size());
    const auto at = text.substr(0, end).rfind('@');
    const auto colon = text.find(':', authority);
    if (at != std::string_view::npos && at > authority && colon < at) return Span{colon + 1, at};
  }
  return std::nullopt;
}

/// The values of "password=…" and "sslpassword=…" in a query or a keyword string, unquoted.
std::vector<std::string> password_parameters(std::string_view text) {
  constexpr std::string_view name = "password";
  const auto lowered = lower(text);
  std::vector<std::string> values;
  for (auto at = lowered.find(name); at != std::string::npos; at = lowered.find(name, at + 1)) {
    auto begin = text.find_first_not_of(" \t", at + name.size());
    if (begin == std::string_view::npos || text[begin] != '=') continue;
    begin = text.find_first_not_of(" \t", begin + 1);
    if (begin == std::string_view::npos) break;
    const bool quoted = text[begin] == '\'';
    begin += quoted ? 1 : 0;
    const auto end = quoted ? text.find('\'', begin) : text.find_first_of(" \t&", begin);
    values.emplace_back(text.substr(begin, end - begin));
  }
  return values;
}

/// A password with a forgotten '/', '?' or '#' ends the address early, and error messages quote
/// what then reads as a port: everything between the user and the last '@', and its first part.
std::vector<std::string> unencoded_password(std::string_view url) {
  const auto scheme = url.find("://");
  const auto colon = scheme == std::string_view::npos ? scheme : url.find(':', scheme + 3);
  const auto at = url.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || colon > at) return {};
  const auto whole = url.substr(colon + 1, at - colon - 1);
  return {std::string(whole), std::string(whole.substr(0, whole.find_first_of("/?#")))};
}

void replace_all(std::string& text, std::string_view what) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + mask.size())) {
    text.replace(at, what.size(), mask);
  }
}

}  // namespace

void Secrets::learn(std::string_view value) {
  if (value.size() < bytes_min ||
      std::find(values_.begin(), values_.end(), value) != values_.end()) {
    return;
  }
  values_.emplace_back(value);
  std::sort(values_.begin(), values_.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

void Secrets::learn_from_url(std::string_view url) {
  std::vector<std::string> passwords = password_parameters(url);
  if (const auto span = password_in_url(url, 0)) {
    passwords.emplace_back(url.substr(span->begin, span->end - span->begin));
  }
  for (auto& password : unencoded_password(url)) passwords.push_back(std::move(password));
  for (const auto& password : passwords) {
    learn(password);
    learn(percent_decoded(password));
  }
}

void Secrets::learn_from_database_url(std::string_view url) {
  learn_from_url(url);
  if (url.find("://") != std::string_view::npos) return;
  std::istringstream pieces{std::string(url)};  // of "name=value name=value", or of no such thing
  for (std::string piece; pieces >> piece;) {
    const auto name = piece.substr(0, piece.find('='));
    if (name == piece || name.find('@') != std::string::npos) learn(name);
  }
}

std::string Secrets::redact(std::string_view text) const {
  std::string result(text);
  for (const auto& value : values_) replace_all(result, value);
  for (auto span = password_in_url(result, 0); span; span = password_in_url(result, span->begin)) {
    result.replace(span->begin, span->end - span->begin, mask);
  }
  return result;
}

bool names_a_secret(std::string_view name) {
  constexpr std::array words{"secret", "token",      "password", "passwd",    "passphrase",
                             "apikey", "api_key",    "api-key",  "signature", "authorization",
                             "cookie", "credential", "private"};
  const auto lowered = lower(name);
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return lowered.find(word) != std::string::npos; });
}

}  // namespace seriatim::app

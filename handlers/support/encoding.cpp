#include "support/encoding.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace seriatim::handlers {

namespace {

constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_unreserved(char c) {
  return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_form_plain(char c) {
  return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '*';
}

bool is_header_plain(char c) {
  return c > ' ' && c < '\x7f' && c != '"' && c != '%';
}

template <class Plain>
std::string encode(std::string_view text, Plain is_plain) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

bool is_json_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

std::string json_escaped(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  const auto byte = static_cast<unsigned char>(c);
  return std::string("\\u00") + digits[byte >> 4] + digits[byte & 15];
}

}  // namespace

std::string percent_encode(std::string_view text) {
  return encode(text, is_unreserved);
}

std::string form_encode(std::string_view text) {
  auto out = encode(text, [](char c) { return c == ' ' || is_form_plain(c); });
  for (char& c : out) {
    if (c == ' ') c = '+';
  }
  return out;
}

std::string header_encode(std::string_view text) {
  return encode(text, is_header_plain);
}

std::string json_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  while (!text.empty()) {
    const auto* stop = std::find_if_not(text.begin(), text.end(), is_json_plain);
    out.append(text.begin(), stop);
    if (stop == text.end()) break;
    out += json_escaped(*stop);
    text.remove_prefix(static_cast<std::size_t>(stop - text.begin()) + 1);
  }
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) out += base64_digits[bits >> (count - 6) & 63];
  }
  if (count > 0) out += base64_digits[bits << (6 - count) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const auto digit = base64_digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 255);
  }
  const bool dangling = count >= 6 || (bits & ((1u << count) - 1)) != 0;
  return dangling ? std::nullopt : std::optional(out);
}

}  // namespace seriatim::handlers

#include "app/text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace seriatim::app {

namespace {

/// Length of the well-formed UTF-8 character at the start of `text`, and its code point; 0 if none.
std::size_t decode(std::string_view text, char32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  code = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF ? 0 : length;
}

bool harmless(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool separator = code == 0x2028 || code == 0x2029;
  const bool direction = code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                         (code >= 0x2066 && code <= 0x2069);
  return !control && !separator && !direction;
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    std::array<char, 5> hex{};
    std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned char>(c));
    text += c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : hex.data();
  }
  return text;
}

std::string two_units(std::int64_t seconds, std::int64_t big, const char* big_name,
                      std::int64_t small, const char* small_name) {
  auto text = std::to_string(seconds / big) + ' ' + big_name;
  const auto rest = seconds % big / small;
  return rest == 0 ? text : text + ' ' + std::to_string(rest) + ' ' + small_name;
}

}  // namespace

std::string printable(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view ellipsis = "…";
  std::string result;
  while (!text.empty()) {
    char32_t code = 0;
    const auto length = decode(text, code);
    const auto piece = text.substr(0, length == 0 ? 1 : length);
    const auto shown = length > 0 && harmless(code) ? std::string(piece) : escaped(piece);
    if (result.size() + shown.size() > bytes_max) return result + std::string(ellipsis);
    result += shown;
    text.remove_prefix(piece.size());
  }
  return result;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    char32_t code = 0;
    const auto length = decode(text, code);
    result += length == 0 ? escaped(text.substr(0, 1)) : std::string(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string human_duration(std::chrono::milliseconds duration) {
  const auto ms = duration.count();
  if (ms < 1'000) return std::to_string(ms) + " ms";
  const auto s = ms / 1'000;
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3'600) return two_units(s, 60, "min", 1, "s");
  if (s < 86'400) return two_units(s, 3'600, "h", 60, "min");
  return two_units(s, 86'400, "d", 3'600, "h");
}

std::string human_bytes(std::size_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr std::array units{"KiB", "MiB", "GiB"};
  double count = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; count >= 1024 && unit + 1 < units.size(); ++unit) count /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", count, units[unit]);
  return text.data();
}

std::string hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const auto byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

}  // namespace seriatim::app

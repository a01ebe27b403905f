#include "support/excerpt.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace seriatim::handlers {

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

struct Decoded {
  std::uint32_t point = 0;
  std::size_t size = 0;  ///< 0: not valid UTF-8
};

std::size_t sequence_size(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

Decoded decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const auto size = sequence_size(lead);
  if (size == 0 || size > text.size()) return {};
  if (size == 1) return {lead, 1};
  std::uint32_t point = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    point = point << 6 | (byte & 0x3Fu);
  }
  const bool overlong = (size == 3 && point < 0x800) || (size == 4 && point < 0x10000);
  if (overlong || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return {};
  return {point, size};
}

bool is_harmless(std::uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0);
  const bool direction = (point >= 0x200B && point <= 0x200F) ||
                         (point >= 0x2028 && point <= 0x202E) ||
                         (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
  return !control && !direction;
}

std::string byte_escape(unsigned char byte) {
  return {'\\', 'x', hex_digits[byte >> 4], hex_digits[byte & 15]};
}

std::string escaped_bytes(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += byte_escape(static_cast<unsigned char>(byte));
  return out;
}

std::string escaped(std::uint32_t point, std::string_view bytes) {
  switch (point) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: return escaped_bytes(bytes);
  }
}

}  // namespace

void Redactor::add(std::string_view secret) {
  if (secret.size() < secret_bytes_min) return;
  secrets_.emplace_back(secret);
  // Longest first, so that a secret within another does not leave the rest in place.
  std::sort(secrets_.begin(), secrets_.end(),
            [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::string Redactor::redact(std::string text) const {
  for (const auto& secret : secrets_) {
    for (auto at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + mask_.size())) {
      text.replace(at, secret.size(), mask_);
    }
  }
  return text;
}

std::string excerpt(std::string_view text, std::size_t bytes_max) {
  constexpr std::string_view cut = "…";
  std::string out;
  while (!text.empty()) {
    const auto [point, size] = decode(text);
    const auto bytes = text.substr(0, std::max<std::size_t>(size, 1));
    const auto piece =
        size > 0 && is_harmless(point) ? std::string(bytes) : escaped(size > 0 ? point : 0, bytes);
    if (out.size() + piece.size() + cut.size() > bytes_max) return out += cut;
    out += piece;
    text.remove_prefix(bytes.size());
  }
  return out;
}

}  // namespace seriatim::handlers

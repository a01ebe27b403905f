#include "support/encoding.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <boost/url/encode.hpp>
#include <boost/url/grammar/alnum_chars.hpp>
#include <boost/url/grammar/lut_chars.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

namespace seriatim::handlers {

namespace {

namespace urls = boost::urls;

constexpr auto form_plain = urls::grammar::alnum_chars + urls::grammar::lut_chars("-._*");

struct {
  bool operator()(char c) const { return c > ' ' && c < '\x7f' && c != '"' && c != '%'; }
} constexpr header_plain;

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
  return urls::encode(text, urls::unreserved_chars);
}

std::string form_encode(std::string_view text) {
  urls::encoding_opts options;
  options.space_as_plus = true;
  return urls::encode(text, form_plain, options);
}

std::string header_encode(std::string_view text) {
  return urls::encode(text, header_plain);
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
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return out;
}

// OpenSSL skips blanks and ignores bits that are left over: text that is not canonical is found by
// encoding the result again.
std::optional<std::string> base64_decode(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string padded(text);
  padded.append((4 - padded.size() % 4) % 4, '=');
  std::string out(padded.size() / 4 * 3, '\0');
  EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(padded.data()),
                  static_cast<int>(padded.size()));
  out.resize(text.size() * 3 / 4);
  return base64_encode(out) == padded ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace seriatim::handlers

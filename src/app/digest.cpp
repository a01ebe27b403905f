#include "app/digest.hpp"

#include <openssl/sha.h>

namespace seriatim::app {

static_assert(std::tuple_size_v<Digest> == SHA256_DIGEST_LENGTH);

Digest sha256(std::string_view text) {
  Digest digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::string short_hash(std::string_view text) {
  const auto digest = sha256(text);
  std::string hash;
  for (std::size_t i = 0; i < 6; ++i) {
    constexpr std::string_view digits = "0123456789abcdef";
    hash += digits[digest[i] >> 4U];
    hash += digits[digest[i] & 15U];
  }
  return hash;
}

}  // namespace seriatim::app

#include "app/digest.hpp"

#include <openssl/sha.h>

#include "app/text.hpp"

namespace seriatim::app {

static_assert(std::tuple_size_v<Digest> == SHA256_DIGEST_LENGTH);

Digest sha256(std::string_view text) {
  Digest digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

std::string short_hash(std::string_view text) {
  const auto digest = sha256(text);
  return hex(std::span(digest).first(6));
}

}  // namespace seriatim::app

#include "support/webhook_signature.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

constexpr std::string_view prefix = "whsec_";
// The specification asks for 24 to 64 bytes; longer keys do no harm.
constexpr std::size_t key_bytes_min = 24;

std::string key_of(std::string_view secret) {
  auto key = base64_decode(base64_of_webhook_secret(secret));
  if (!key) throw CannotRender("a webhook secret is not whsec_ and base64");
  if (key->size() < key_bytes_min) {
    throw CannotRender(
        "a webhook secret is under 24 bytes; make one with: "
        "echo whsec_$(openssl rand -base64 32)");
  }
  return std::move(*key);
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

}  // namespace

std::string_view base64_of_webhook_secret(std::string_view secret) {
  if (secret.starts_with(prefix)) secret.remove_prefix(prefix.size());
  return secret;
}

WebhookSigner::WebhookSigner(const std::vector<std::string>& secrets) {
  for (const auto& secret : secrets) keys_.push_back(key_of(secret));
}

std::string WebhookSigner::sign(std::string_view id, std::int64_t unix_seconds,
                                std::string_view body) const {
  std::string signed_text(id);
  signed_text += '.' + std::to_string(unix_seconds) + '.';
  signed_text += body;
  std::string value;
  for (const auto& key : keys_) {
    if (!value.empty()) value += ' ';
    value += "v1," + base64_encode(hmac_sha256(key, signed_text));
  }
  return value;
}

}  // namespace seriatim::handlers

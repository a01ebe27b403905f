#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::handlers {

/// Without its "whsec_".
[[nodiscard]] std::string_view base64_of_webhook_secret(std::string_view secret);

/// Signs as the Standard Webhooks specification says (symmetric, "v1"). With several secrets the
/// header carries one signature each, so that receivers can rotate.
class WebhookSigner {
 public:
  /// Each secret: "whsec_" and base64 of the key. Throws CannotRender for anything else; the
  /// message does not quote it.
  explicit WebhookSigner(const std::vector<std::string>& secrets);

  /// Value of `webhook-signature`: "v1,… v1,…".
  [[nodiscard]] std::string sign(std::string_view id, std::int64_t unix_seconds,
                                 std::string_view body) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace seriatim::handlers

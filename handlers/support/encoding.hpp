#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace seriatim::handlers {

/// RFC 3986: everything but letters, digits and "-._~" becomes %XX. Fit for any part of a URL.
[[nodiscard]] std::string percent_encode(std::string_view text);

/// application/x-www-form-urlencoded, as the WHATWG URL standard writes it.
[[nodiscard]] std::string form_encode(std::string_view text);

/// Bytes outside printable ASCII, the blank, `"` and `%` become %XX: fit for a header value, and
/// two different texts stay different.
[[nodiscard]] std::string header_encode(std::string_view text);

/// The inside of a JSON string. Bytes that are not UTF-8 pass as they are.
[[nodiscard]] std::string json_escape(std::string_view text);

[[nodiscard]] std::string base64_encode(std::string_view bytes);
/// Absent for anything but canonical base64 (padding optional).
[[nodiscard]] std::optional<std::string> base64_decode(std::string_view text);

}  // namespace seriatim::handlers

#pragma once

#include <array>
#include <string>
#include <string_view>

namespace seriatim::app {

using Digest = std::array<unsigned char, 32>;

[[nodiscard]] Digest sha256(std::string_view text);

/// The first 48 bits of SHA-256, in hexadecimal.
[[nodiscard]] std::string short_hash(std::string_view text);

}  // namespace seriatim::app

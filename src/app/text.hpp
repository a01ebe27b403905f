#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "postgres/wire/shell_word.hpp"
#include "support/time_text.hpp"

namespace seriatim::app {

using handlers::rfc3339;
using postgres::shell_word;

/// Foreign text made safe for terminals, logs and JSON: one line of valid UTF-8 in which control
/// characters, direction overrides and stray bytes are escaped ("\x1b"), cut to `bytes_max`.
[[nodiscard]] std::string printable(std::string_view text, std::size_t bytes_max = 500);

/// Of the id of a row, as printed.
inline constexpr std::size_t id_bytes_max = 64;

/// The text as it is, but for bytes that are no UTF-8, which are escaped: what JSON can hold.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// "850 ms", "12 s", "3 min 5 s", "2 h 4 min", "3 d 2 h"
[[nodiscard]] std::string human_duration(std::chrono::milliseconds duration);

/// Two lower-case digits a byte.
[[nodiscard]] std::string hex(std::span<const unsigned char> bytes);

/// "3.4 KiB"
[[nodiscard]] std::string human_bytes(std::size_t bytes);

}  // namespace seriatim::app

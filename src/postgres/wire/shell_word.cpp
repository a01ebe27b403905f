#include "postgres/wire/shell_word.hpp"

namespace seriatim::postgres {

std::string shell_word(std::string_view text) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@%+=,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + '\'';
}

}  // namespace seriatim::postgres

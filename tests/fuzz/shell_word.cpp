#include "postgres/wire/shell_word.hpp"

#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(shell_word) {
  using seriatim::fuzz::require;
  const auto word = seriatim::postgres::shell_word(input);
  std::string read;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && word[i] == '\\') {
      require(++i < word.size(), "a backslash has something to quote");
      read += word[i];
    } else {
      constexpr auto special = " \t\n|&;<>()$`\"*?[]#~!{}^";
      require(quoted || std::string_view(special).find(word[i]) == std::string_view::npos,
              "what a shell acts upon is quoted");
      read += word[i];
    }
  }
  require(!quoted && !word.empty(), "a word is whole");
  require(read == input, "a shell reads back what was printed");
}

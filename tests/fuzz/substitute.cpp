#include "app/environment.hpp"
#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(substitute) {
  using seriatim::fuzz::require;
  const std::string value = "${VALUE} $$";
  const auto environment = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "EMPTY") return "";
    return name.starts_with('S') ? std::optional(value) : std::nullopt;
  };
  const auto result = seriatim::app::substitute(input, environment);
  for (const auto& [name, used] : result.used) {
    require(input.find("${" + name) != input.npos, "a variable is one that the text names");
    require(used.empty() || result.text.find(used) != std::string::npos,
            "a value is put in as it is, and is not substituted again");
  }
  const bool has_name = input.find("${") != input.npos;
  require(has_name || (result.used.empty() && result.problems.empty()), "${ begins a variable");
  if (input.find('$') == input.npos) require(result.text == input, "other text is left as it is");
  std::string doubled;
  for (const char c : input) doubled += c == '$' ? "$$" : std::string(1, c);
  const auto plain = seriatim::app::substitute(doubled, environment);
  require(plain.text == input && plain.problems.empty(), "a doubled dollar is one dollar");
}

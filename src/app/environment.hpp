#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seriatim::app {

/// Finds a variable. Tests bring their own.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

[[nodiscard]] Environment process_environment();

/// What became of a text with variables in it.
struct Substituted {
  std::string text;
  std::vector<std::pair<std::string, std::string>> used;  ///< name and value, for redaction
  std::vector<std::string> problems;                      ///< "variable SMS_TOKEN is not set; …"
};

/// Replaces "${NAME}" and "${NAME:-default}" (used when unset or empty); "$$" is one dollar, any
/// other dollar is itself. Values are not substituted again.
[[nodiscard]] Substituted substitute(std::string_view text, const Environment& environment);

}  // namespace seriatim::app

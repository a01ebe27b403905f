#include "app/environment.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace seriatim::app {

namespace {

bool is_name(std::string_view text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

/// Up to what belongs to no name: behind it may be a default, and that a secret.
std::string quotable(const std::string& name) {
  const auto end = std::find_if(name.begin(), name.end(),
                                [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
  return std::string(name.begin(), end) + (end == name.end() ? "" : "…");
}

/// `inside` is what is between the braces. What cannot be replaced stays as it is, so that one
/// mistake is reported once.
void substitute_one(std::string_view inside, const Environment& environment, Substituted& result) {
  const auto split = inside.find(":-");
  const auto refuse = [&](std::string problem) {
    result.problems.push_back(std::move(problem));
    result.text += "${" + std::string(inside) + '}';
  };
  const std::string name(inside.substr(0, split));
  if (!is_name(name)) {
    return refuse("\"${" + quotable(name) + "}\" is no variable name; write \"$$\" for a dollar");
  }
  const auto value = environment(name);
  if (value && !(value->empty() && split != std::string_view::npos)) {
    result.text += *value;
    result.used.emplace_back(name, *value);
  } else if (split != std::string_view::npos) {
    result.text += inside.substr(split + 2);
  } else {
    refuse("variable " + name + " is not set; set it or write \"${" + name + ":-default}\"");
  }
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Substituted substitute(std::string_view text, const Environment& environment) {
  Substituted result;
  while (!text.empty()) {
    const auto dollar = std::min(text.find('$'), text.size());
    result.text += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.substr(0, 2) == "$$") {
      result.text += '$';
      text.remove_prefix(2);
    } else if (text.substr(0, 2) == "${") {
      const auto end = text.find('}');
      if (end == std::string_view::npos) {
        result.problems.emplace_back("\"${\" is not closed; write \"$${\" for itself");
        result.text += text;
        return result;
      }
      substitute_one(text.substr(2, end - 2), environment, result);
      text.remove_prefix(end + 1);
    } else if (!text.empty()) {
      result.text += '$';
      text.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace seriatim::app

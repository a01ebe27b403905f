#include "app/environment.hpp"

#include <doctest/doctest.h>

using namespace seriatim::app;

namespace {

std::string substituted(const std::string& text) {
  const auto result = substitute(text, [](const std::string& name) -> std::optional<std::string> {
    if (name == "A") return "1";
    if (name == "NESTED") return "${A}";
    if (name == "EMPTY") return "";
    return std::nullopt;
  });
  CHECK(result.problems.empty());
  return result.text;
}

}  // namespace

TEST_CASE("variables, defaults and dollars are replaced, nothing else is") {
  CHECK(substituted("") == "");
  CHECK(substituted("x${A}y${A}") == "x1y1");
  CHECK(substituted("${B:-2}") == "2");
  CHECK(substituted("${B:-}") == "");
  CHECK(substituted("${EMPTY:-2}") == "2");
  CHECK(substituted("${EMPTY}") == "");
  CHECK(substituted("$$") == "$");
  CHECK(substituted("$${A}") == "${A}");
  CHECK(substituted("$1 costs $ and $") == "$1 costs $ and $");
}

TEST_CASE("a value is not substituted again") {
  CHECK(substituted("${NESTED}") == "${A}");
}

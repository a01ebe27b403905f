// docs/openapi.yaml and docs/api.md name the routes that there are.
#include <doctest/doctest.h>

#include <fstream>
#include <regex>
#include <set>

#include "console/console_stage.hpp"

using namespace seriatim::testing;

namespace {

const std::string docs = SERIATIM_SOURCE_DIR "/docs/";

/// "GET /status", of `paths:` in the file.
std::set<std::string> of_openapi() {
  std::set<std::string> found;
  std::ifstream in(docs + "openapi.yaml");
  const std::regex path("^  (/[^:]*):$");
  const std::regex method("^    (get|post|delete):$");
  std::string at;
  for (std::string line; std::getline(in, line) && line != "components:";) {
    std::smatch match;
    if (std::regex_match(line, match, path)) at = match[1];
    if (!std::regex_match(line, match, method)) continue;
    auto name = match.str(1);
    for (auto& c : name) c = static_cast<char>(std::toupper(c));
    found.insert(name + ' ' + at);
  }
  return found;
}

std::set<std::string> of_page() {
  std::set<std::string> found;
  std::ifstream in(docs + "api.md");
  const std::regex row(R"(^\| (GET|POST|DELETE) `([^`?]*)[^`]*` \|.*)");
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) found.insert(match.str(1) + ' ' + match.str(2));
  }
  return found;
}

}  // namespace

TEST_CASE("the description of the API names the routes that there are, and no others") {
  ConsoleStage stage;
  const std::string root = "/api/v1";
  std::set<std::string> served;
  for (const auto& route : stage.api.routes()) {
    REQUIRE(route.path.starts_with(root));
    served.insert(route.method + ' ' + route.path.substr(root.size()));
  }
  CHECK(served.size() == 18);
  CHECK(of_openapi() == served);
  CHECK(of_page() == served);
}

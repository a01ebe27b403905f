#include <libpq-fe.h>

#include <map>
#include <memory>
#include <optional>

#include "fuzz/fuzz_target.hpp"
#include "postgres/wire/network_bounds.hpp"

namespace {

using Parameters = std::map<std::string, std::string>;

/// As libpq reads them; absent if it refuses the text.
std::optional<Parameters> parameters_of(const std::string& url) {
  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(
      PQconninfoParse(url.c_str(), &problem), PQconninfoFree);
  PQfreemem(problem);
  if (!all) return std::nullopt;
  Parameters set;
  for (const auto* one = all.get(); one->keyword != nullptr; ++one) {
    if (one->val != nullptr) set.emplace(one->keyword, one->val);
  }
  return set;
}

}  // namespace

SERIATIM_FUZZ_TARGET(database_url) {
  using seriatim::fuzz::require;
  const std::string url(input.substr(0, input.find('\0')));
  const auto before = parameters_of(url);
  const auto after = parameters_of(seriatim::postgres::with_network_bounds(url));
  require(before.has_value() == after.has_value(), "libpq accepts the URL as before");
  if (!before) return;
  for (const auto& [name, value] : *before) {
    require(after->at(name) == value, "what the user wrote wins");
  }
  require(after->contains("tcp_user_timeout") && after->contains("connect_timeout"),
          "there are bounds");
}

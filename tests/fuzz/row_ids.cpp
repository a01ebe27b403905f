#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "postgres/store/noted_ids.hpp"

SERIATIM_FUZZ_TARGET(row_ids) {
  using namespace seriatim::postgres;
  using seriatim::fuzz::require;
  std::vector<std::string> ids;
  while (!input.empty()) ids.emplace_back(seriatim::fuzz::take_line(input));
  for (const auto& id : ids) {
    std::int64_t number = 0;
    std::from_chars(id.data(), id.data() + id.size(), number);
    require(!fits_range(id) || std::to_string(number) == id, "a number is as PostgreSQL writes it");
  }
  const auto noted = noted_ids(ids, true, ids.empty() ? std::nullopt : std::optional(ids.back()));
  auto all = noted.listed;
  const char* at = noted.ranges.c_str() + 1;
  while (*at == '[' || *at == ',') {  // {[1,4),[7,9)}
    char* end = nullptr;
    at += *at == ',' ? 2 : 1;
    const auto first = std::strtoll(at, &end, 10);
    const auto last = std::strtoll(end + 1, &end, 10);
    require(first < last && last - first <= static_cast<std::int64_t>(ids.size()), "ranges fit");
    for (auto number = first; number < last; ++number) all.push_back(std::to_string(number));
    at = end + 1;
  }
  std::sort(all.begin(), all.end());
  std::sort(ids.begin(), ids.end());
  require(std::string_view(at) == "}" && all == ids, "every id is noted, and none else");
}

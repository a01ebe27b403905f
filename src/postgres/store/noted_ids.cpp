#include "postgres/store/noted_ids.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace seriatim::postgres {

namespace {

void add_range(std::string& ranges, std::int64_t first, std::int64_t end) {
  ranges += ranges.size() == 1 ? "[" : ",[";
  ranges += std::to_string(first) + ',' + std::to_string(end) + ')';
}

}  // namespace

std::optional<std::int64_t> integer_of(const std::string& id) {
  std::int64_t number = 0;
  const auto* const end = id.data() + id.size();
  const auto [last, error] = std::from_chars(id.data(), end, number);
  if (error != std::errc{} || last != end || number == INT64_MAX) return std::nullopt;
  const auto first = id.front() == '-' ? 1U : 0U;
  if (id[first] == '0' && id != "0") return std::nullopt;
  return number;
}

NotedIds noted_ids(const std::vector<std::string>& ids, bool integers,
                   const std::optional<std::string>& before) {
  if (!integers) return {ids, "{}"};
  NotedIds noted{{}, "{"};
  std::vector<std::int64_t> numbers;
  numbers.reserve(ids.size());
  for (const auto& id : ids) {
    if (const auto number = integer_of(id)) {
      numbers.push_back(*number);
    } else {
      noted.listed.push_back(id);
    }
  }
  if (!std::is_sorted(numbers.begin(), numbers.end())) std::sort(numbers.begin(), numbers.end());
  const auto last = before ? integer_of(*before) : std::nullopt;
  for (std::size_t i = 0; i < numbers.size();) {
    const auto first = numbers[i];
    auto end = first + 1;
    for (++i; i < numbers.size() && numbers[i] <= end; ++i) {
      if (numbers[i] < end) {  // twice: a range cannot say so
        noted.listed.push_back(std::to_string(numbers[i]));
      } else {
        ++end;
      }
    }
    if (end - first > 1 || (last && *last + 1 == first)) {
      add_range(noted.ranges, first, end);
    } else {
      noted.listed.push_back(std::to_string(first));
    }
  }
  noted.ranges += '}';
  return noted;
}

std::string ranges_of(const std::vector<std::string>& ids) {
  std::string ranges = "{";
  for (const auto& id : ids) {
    if (const auto number = integer_of(id)) add_range(ranges, *number, *number + 1);
  }
  return ranges + '}';
}

bool fits_range(const std::string& id) {
  return integer_of(id).has_value();
}

}  // namespace seriatim::postgres

#include "isolation/judge.hpp"

#include <algorithm>
#include <stdexcept>

namespace seriatim::isolation {

namespace {

/// Not the comparison of the code under test.
bool is_before(OrderBy order, const Position& a, const Position& b) {
  const auto id_a = std::stoll(a.id);
  const auto id_b = std::stoll(b.id);
  if (order == OrderBy::id || a.created_at_us == b.created_at_us) return id_a < id_b;
  return a.created_at_us < b.created_at_us;
}

}  // namespace

std::optional<std::string> judge(OrderBy order, const std::vector<Row>& delivered,
                                 const std::vector<Row>& in_the_table) {
  for (std::size_t i = 1; i < delivered.size(); ++i) {
    const auto& row = delivered[i];
    const auto& earlier = delivered[i - 1];
    if (row.position == earlier.position) return row.name + " was delivered twice";
    if (!is_before(order, earlier.position, row.position)) {
      return row.name + " was delivered after " + earlier.name + ", which comes after it";
    }
  }
  for (const auto& row : in_the_table) {
    const auto same = [&](const Row& other) { return other.position == row.position; };
    if (std::none_of(delivered.begin(), delivered.end(), same)) return row.name + " was lost";
  }
  return std::nullopt;
}

}  // namespace seriatim::isolation

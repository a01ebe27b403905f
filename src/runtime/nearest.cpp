#include "runtime/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace seriatim::runtime {

namespace {

/// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const auto nearer = [&](const std::string& a, const std::string& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  };
  const auto found = std::min_element(candidates.begin(), candidates.end(), nearer);
  if (found == candidates.end()) return std::nullopt;
  const auto distance = edit_distance(word, *found);
  // A third of the word may be wrong; a short word of which nothing is left is another word.
  const bool close = distance <= 1 + word.size() / 3 && distance < found->size();
  return close ? std::optional(*found) : std::nullopt;
}

}  // namespace seriatim::runtime

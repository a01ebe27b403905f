#pragma once

#include <optional>
#include <string>
#include <vector>

#include "seriatim/position.hpp"

namespace seriatim::isolation {

struct Row {
  Position position;
  std::string name;  ///< its payload
};

/// What is wrong with a permutation once all its transactions have ended; nothing when everything
/// committed was delivered exactly once, in the declared order. Rows taken out of the table
/// (deleted, detached) may have been delivered or not, but in their place.
///
/// A row that was read while an earlier one could still commit shows up in the permutation in which
/// it does: the steps up to there are the same.
[[nodiscard]] std::optional<std::string> judge(OrderBy order, const std::vector<Row>& delivered,
                                               const std::vector<Row>& in_the_table);

}  // namespace seriatim::isolation

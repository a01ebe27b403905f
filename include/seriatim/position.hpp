#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace seriatim {

/// A point on the axis the fence works on: the first component of a position.
/// `created_at` order: microseconds since 1970-01-01 UTC. `id` order: the id itself.
using Mark = std::int64_t;

inline constexpr Mark mark_min = std::numeric_limits<Mark>::min();
inline constexpr Mark mark_max = std::numeric_limits<Mark>::max();

/// What "in order" means for one process.
enum class OrderBy {
  created_at,  ///< (created_at, id), compared as a pair
  id,          ///< id alone, drawn from a sequence with CACHE 1 and increment 1
};

/// Where a row stands. `id` is the database's text form; its order is the database's business
/// (uuid and text do not sort the way C++ would sort them), so positions are compared for equality
/// here and for order in SQL.
struct Position {
  std::int64_t created_at_us = 0;  ///< microseconds since 1970-01-01 UTC
  std::string id;

  friend bool operator==(const Position&, const Position&) = default;
};

}  // namespace seriatim

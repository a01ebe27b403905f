#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace seriatim {

/// A point on the axis the fence works on: the first component of a position.
/// `created_at` order: microseconds since 1970-01-01 UTC. `id` order: the id itself.
using OrderKey = std::int64_t;

inline constexpr OrderKey order_key_min = std::numeric_limits<OrderKey>::min();
inline constexpr OrderKey order_key_max = std::numeric_limits<OrderKey>::max();

/// What "in order" means for one process.
enum class OrderBy {
  created_at,  ///< (created_at, id), compared as a pair
  id,          ///< id alone, drawn from a sequence with CACHE 1 and increment 1
};

/// A place in a source's order. Only the source can say which of two places comes first
/// (Reader::comes_after). For a table the database decides, because it does not sort uuid and text
/// as C++ does. Everyone else compares two positions only for equality.
struct Position {
  std::int64_t created_at_us = 0;  ///< microseconds since 1970-01-01 UTC; 0 if the source has none
  std::string id;                  ///< the source's name for the row: unique, and it never changes

  friend bool operator==(const Position&, const Position&) = default;
};

}  // namespace seriatim

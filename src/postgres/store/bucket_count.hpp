#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "seriatim/position.hpp"

namespace seriatim::postgres {

/// A bucket of the ledger: what is noted in it, and what the table holds in its range now.
struct BucketCount {
  std::int64_t number = 0;
  unsigned lanes = 1;            ///< there were then
  bool sealed = false;           ///< count and hash alone are left
  bool open = false;             ///< the newest one, still growing
  std::optional<Position> from;  ///< after it; absent: from the first row on
  Position to;
  std::uint64_t rows = 0;  ///< delivered or set aside
  std::int64_t hash = 0;   ///< of the ids of `rows`
  std::uint64_t rows_there = 0;
  std::int64_t hash_there = 0;
  std::uint64_t refilled = 0;  ///< of these, under ids of rows that were delivered and are gone
  std::string first_refilled;  ///< id of the first of them

  [[nodiscard]] bool fits() const {
    return rows == rows_there && hash == hash_there && refilled == 0;
  }
};

}  // namespace seriatim::postgres

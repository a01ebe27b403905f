#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/handler_calls.hpp"

namespace seriatim::testing {

/// Rows `first` to `last` of lane 0, as they follow one another.
inline std::vector<Record> rows(std::uint64_t first, std::uint64_t last,
                                std::size_t payload_bytes = 20) {
  std::vector<Record> all;
  for (auto n = first; n <= last; ++n) {
    auto record = make_record(std::string(payload_bytes, 'x'), "row-" + std::to_string(n));
    record.lane = 0;
    record.sequence = n;
    all.push_back(std::move(record));
  }
  return all;
}

}  // namespace seriatim::testing

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "seriatim/position.hpp"

namespace seriatim::bench {

/// The orders for the relay under test: one JSON object on one line.
struct RelaySpec {
  using Option = std::variant<bool, std::string>;

  std::string url;
  std::string process;
  OrderBy order = OrderBy::id;
  unsigned lanes = 1;
  unsigned batch_rows = 1'000;
  unsigned commit_every = 1'000;
  bool read_ahead = false;
  bool listen = false;
  unsigned insert_latency_ms = 5;
  bool delivers_late = false;  ///< late_rows = "deliver"
  std::uint64_t rows = 0;      ///< reported when so many are delivered; 0: never
  /// A kind of handler; "null" does nothing, "arrivals" notes when it was called.
  std::string handler = "null";
  std::map<std::string, Option> options;
};

[[nodiscard]] std::string to_line(const RelaySpec& spec);
[[nodiscard]] RelaySpec spec_from(const std::string& line);

}  // namespace seriatim::bench

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lab/bench/figure.hpp"
#include "seriatim/position.hpp"

namespace seriatim::bench {

struct Settings {
  std::string name;                   ///< one of `names()`
  std::string url;                    ///< of a server on which this role may make a database
  std::optional<std::uint64_t> rows;  ///< handed over in each repeat; absent: as the bench has it
  unsigned repeats = 5;
  unsigned batch_rows = 1'000;
  std::vector<OrderBy> orders{OrderBy::id, OrderBy::created_at};
  bool read_ahead = true;           ///< if several rows are committed together
  std::optional<unsigned> seconds;  ///< of latency, idle; absent: under a minute in all

  // What the table and the server hold next to the rows handed over.
  std::uint64_t waiting = 0;    ///< further rows that wait
  std::uint64_t delivered = 0;  ///< rows behind the cursor
  unsigned partitions = 1;
  unsigned connections = 0;  ///< idle ones

  std::filesystem::path program;     ///< run with `bench-relay` as its argument it is the relay
  std::filesystem::path server_log;  ///< of a server of our own; empty: not to be had
};

using Progress = std::function<void(const std::string& line)>;

[[nodiscard]] const std::vector<std::string>& names();

/// Carries out one bench in a database of its own on the server, which it removes. A requested stop
/// ends it early; what was measured until then is reported.
///
/// Errors: Error if it cannot be held.
[[nodiscard]] Report measure(const Settings& settings, const Progress& progress,
                             const std::stop_token& stop);

/// The relay under test: reads what to do from stdin, delivers, reports on stdout, ends with stdin.
/// Answers an exit code.
int relay_part();

}  // namespace seriatim::bench

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>

#include "lab/bench/relay_spec.hpp"
#include "lab/process/process.hpp"

namespace seriatim::bench {

/// Thrown if a stop was asked.
struct Interrupted {};

/// The relay under test as a process of its own, in a process group of its own: a Ctrl-C at the
/// terminal is not for it.
///
/// Errors: Error with what the relay complained of, or if nothing was heard for too long.
class RelayChild {
 public:
  RelayChild(const std::filesystem::path& program, const RelaySpec& spec, std::stop_token stop);

  [[nodiscard]] pid_t pid() const { return process_.pid(); }

  struct Delivered {
    std::uint64_t rows = 0;     ///< in all
    std::uint64_t counted = 0;  ///< after the first commit
    std::int64_t took_ns = 0;   ///< for those
  };
  /// Every lane has nothing to do.
  void await_idle();
  Delivered await_delivered();
  /// Ends it: when each row (by id) was handed over, of an "arrivals" handler.
  std::map<std::int64_t, std::int64_t> finish();

 private:
  [[nodiscard]] std::string next_line();
  [[nodiscard]] std::string line_with(const std::string& key);

  std::stop_token stop_;
  lab::Process process_;
};

}  // namespace seriatim::bench

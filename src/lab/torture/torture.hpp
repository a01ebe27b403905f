#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "lab/judge/judge.hpp"
#include "seriatim/position.hpp"

namespace seriatim::torture {

using lab::Verdict;

/// A run: concurrent writers at their worst and relays under faults against a real server, judged
/// by what a receiver of our own saw and what is committed.
struct Settings {
  std::string url;  ///< schema seriatim is installed there
  std::uint64_t seed = 1;
  std::chrono::milliseconds length{60'000};
  unsigned producers = 8;
  unsigned relays = 3;
  unsigned lanes = 1;
  std::vector<OrderBy> orders{OrderBy::created_at, OrderBy::id};
  unsigned in_flight = 1;  ///< calls at once in a lane
  bool hold_key = false;   ///< on_retry = "hold_key"; the receiver refuses some keys for a while

  bool kill = false;
  bool freeze = false;
  bool terminate_backends = false;
  bool net = false;
  /// Stops the server as a crash would and starts it again; empty: it is left alone. Called on the
  /// thread of torture().
  std::function<void()> restart_server;
  /// The server is lost, and its synchronous standby takes over at the same address; empty: there
  /// is none. Then `add_standby` gives it one of its own. Called as `restart_server`.
  std::function<void()> promote;
  std::function<void()> add_standby;

  std::filesystem::path relay_program;
  std::filesystem::path folder;  ///< exists; logs go there
  bool keep = false;             ///< schema and rows stay, also after a clean run

  /// The order of each key is promised, not that of a lane.
  [[nodiscard]] bool by_key() const { return in_flight > 1 || hold_key; }
  [[nodiscard]] unsigned commit_every() const { return std::clamp(in_flight / 2, 1U, 16U); }
  [[nodiscard]] bool any_fault() const {
    return kill || freeze || terminate_backends || net || restart_server || promote;
  }
};

/// From the producer's COMMIT being answered to the call being read, of first deliveries.
struct Latency {
  std::size_t measured = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
};

struct Report {
  struct Stream {
    std::string process;
    Verdict verdict;
  };
  std::vector<Stream> streams;
  std::string server;  ///< its version
  Latency latency;
  std::map<std::string, std::uint64_t> shapes;  ///< transactions by shape
  std::map<std::string, std::uint64_t> faults;  ///< by kind, as they happened
  std::vector<std::string> left_out;            ///< shapes and faults that could not be, and why
  std::vector<std::string> problems;            ///< of the run itself: a relay that gave up, …
  std::chrono::milliseconds took{0};
  bool interrupted = false;

  [[nodiscard]] bool clean() const;
  /// Over all streams.
  [[nodiscard]] std::size_t sum(std::size_t Verdict::*count) const;
  /// Of all streams.
  [[nodiscard]] std::size_t most(std::size_t Verdict::*count) const;
};

/// Carries out a run to its verdict; a requested stop ends it early, and it is judged all the same.
/// Leaves nothing in the database unless the verdict is "broken" or `keep` is set.
///
/// Threads: the calling one carries out the faults and must outlive the run; others are its own.
/// Errors: Error if the run could not be held at all.
[[nodiscard]] Report torture(const Settings& settings,
                             const std::function<void(const std::string&)>& progress,
                             const std::stop_token& stop);

/// For people, over several lines.
[[nodiscard]] std::string report_text(const Settings& settings, const Report& report);
/// One JSON object on one line.
[[nodiscard]] std::string report_json(const Settings& settings, const Report& report);

}  // namespace seriatim::torture

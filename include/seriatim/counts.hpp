#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim {

/// How many values fell into each bucket, as Prometheus counts them: `counts[i]` values were at
/// most `bounds[i]` and more than the bound before; the last count has no bound.
struct Histogram {
  std::span<const double> bounds;  ///< seconds, ascending; one fewer than `counts`
  std::vector<std::uint64_t> counts;
  double sum = 0;  ///< seconds
};

/// What a lane spends its time on.
enum class LaneStep {
  session,  ///< connecting, claiming the lane, reading the cursor
  fetch,    ///< polling for rows
  fence,    ///< waiting for a transaction that may still insert
  call,     ///< in the handler
  commit,   ///< announcing calls and moving the cursor
  backoff,  ///< waiting before the next attempt
  idle      ///< nothing to deliver, or not this relay's turn
};
inline constexpr std::array<std::string_view, 7> lane_step_names{
    "session", "fetch", "fence", "call", "commit", "backoff", "idle"};

/// What one lane of this relay has counted since the relay was made.
struct LaneCounts {
  std::string process;
  unsigned lane = 0;
  std::uint64_t delivered = 0;              ///< rows, cursor committed
  std::array<std::uint64_t, 3> failures{};  ///< calls that ended retry_later, unknown, poison
  std::uint64_t parked = 0;                 ///< rows that failed and were set aside
  std::uint64_t queued = 0;                 ///< rows set aside behind a parked row of their key
  std::array<double, lane_step_names.size()> stage_seconds{};  ///< by LaneStep
  std::uint64_t sessions_lost = 0;
  std::uint64_t takeovers = 0;  ///< claims that made this relay the lane's holder
  bool held = false;            ///< by this relay, as far as it knows
  Histogram calls;              ///< one call of the handler
  /// created_at to the commit that moves the cursor over the row, by the database's clock. Empty if
  /// the source has no times.
  Histogram end_to_end;
  Histogram commits;  ///< one settlement

  /// What its thread does now, and when that must have ended by its own account.
  LaneStep step = LaneStep::idle;
  std::chrono::steady_clock::time_point step_ends{};
  /// The source answered last. Of a lane that is left to others: when it said who runs the process.
  std::chrono::steady_clock::time_point answered{};
  /// A source that answers leaves no longer pause, but for a call.
  std::chrono::milliseconds silence_max{0};
  bool finished = false;  ///< its thread has ended: it is drained, or was stopped
};

}  // namespace seriatim

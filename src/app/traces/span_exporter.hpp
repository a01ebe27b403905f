#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/log.hpp"
#include "app/traces/span.hpp"
#include "app/traces/traces_section.hpp"
#include "seriatim/config.hpp"

namespace seriatim::app {

/// What became of spans, counted since the start.
struct SpanCounts {
  std::uint64_t sent = 0;      ///< the collector has them
  std::uint64_t dropped = 0;   ///< there was no room to keep them until they are sent
  std::uint64_t rejected = 0;  ///< the collector does not want them
  std::uint64_t failed = 0;    ///< given up: the collector was lost or too busy
};

/// Sends spans to a collector, from a thread of its own. Delivery never waits for it: if the
/// collector is slow or lost, spans are dropped and counted.
///
/// Threads: any. Lifetime: the destructor sends what waits, for as long as one request may take.
class SpanExporter {
 public:
  static constexpr std::size_t queue_max = 2'048;
  static constexpr std::size_t batch_max = 512;
  static constexpr unsigned tries_max = 5;

  struct Pace {
    std::chrono::milliseconds batch_interval{1'000};  ///< the longest wait for more spans
    BackoffConfig backoff{std::chrono::seconds{1}, std::chrono::seconds{8},
                          std::chrono::seconds{60}};
  };

  using LogWriter = std::function<void(const LogLine&)>;
  /// `log` gets a line when the collector is lost, and one when it is back. `secrets` outlives it.
  SpanExporter(const TracesConfig& config, const Secrets& secrets, LogWriter log);
  SpanExporter(const TracesConfig& config, const Secrets& secrets, LogWriter log, Pace pace);
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  void offer(CallSpan&& span) noexcept;
  [[nodiscard]] SpanCounts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Batch = std::vector<CallSpan>;

  void run() noexcept;
  [[nodiscard]] Batch take();
  void drop_waiting() noexcept;
  void send(const Batch& batch) noexcept;
  [[nodiscard]] bool try_to_send(const std::string& body, std::size_t spans);
  void taken(std::size_t spans, const std::string& answer);
  void refused(std::size_t spans, const std::string& why);
  void put_off(const std::string& why, std::optional<std::chrono::milliseconds> retry_after);
  [[nodiscard]] bool wait_for_turn();
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] Clock::time_point deadline() const;
  void note_lost(const std::string& why) noexcept;
  [[nodiscard]] std::string foreign(const std::string& text) const;
  void add(std::uint64_t SpanCounts::*what, std::size_t spans);

  const TracesConfig config_;
  const Secrets& secrets_;
  const LogWriter log_;
  const Pace pace_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CallSpan> waiting_;
  std::optional<Clock::time_point> stop_by_;
  SpanCounts counts_;

  // Used by the thread only.
  Poster poster_;
  unsigned failures_in_row_ = 0;
  Clock::time_point next_try_;
  bool lost_ = false;
  bool rejection_noted_ = false;

  std::thread thread_;
};

}  // namespace seriatim::app

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/lane.hpp"
#include "runtime/calls.hpp"
#include "runtime/drain_audit.hpp"
#include "runtime/lane_counters.hpp"
#include "runtime/lane_session.hpp"
#include "runtime/time_and_chance.hpp"
#include "seriatim/handler.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/source.hpp"

namespace seriatim::runtime {

/// Carries out what core::Lane decides: action in, event out, no decision of its own. If an audit
/// is to come first, it reports the lane's state after that.
///
/// Threads: `run` on the lane's thread; the stop token and the waker may be used from any.
class LaneDriver {
 public:
  struct Parts {
    ProcessConfig config;
    unsigned lane = 0;
    std::shared_ptr<DrainAudit> drain_audit;  ///< absent: the lane goes on when all is delivered
    std::string holder;
    std::shared_ptr<Source> source;
    std::unique_ptr<Handler> handler;
    std::shared_ptr<Observer> observer;
    std::shared_ptr<TimeAndChance> outside{};  ///< absent: the real ones
    /// Several calls in flight: makes what calls rows. Absent: `handler`, one row after another.
    std::function<std::unique_ptr<Calls>(CallNeeds)> calls{};
  };
  explicit LaneDriver(Parts parts);

  /// Until a stop is asked or the lane has drained. Answers how the lane was left.
  LaneStatus run(const std::stop_token& stop);

  /// Makes a waiting lane check again (a stop was asked).
  void wake() { waker_.wake(); }

  /// Whether this instance is to hold the lane (core/lane_assignment.hpp); it is, until this says
  /// otherwise.
  void want(bool wanted) {
    if (wanted_.exchange(wanted) != wanted) waker_.wake();
  }

  /// It is to deliver and has no connection.
  [[nodiscard]] bool lacks_session() const { return wanted_ && !has_session_; }

  /// Threads: any.
  [[nodiscard]] LaneCounts counts() const;
  [[nodiscard]] bool wanted() const { return wanted_; }

 private:
  void begin_step(const core::Action& action, core::Time now);
  core::Event perform(const core::Action& action);
  void drop_session();

  core::Event carry_out(const core::OpenSession&);
  core::Event carry_out(const core::ClaimLane&);
  core::Event carry_out(const core::ReadCursor&);
  core::Event carry_out(const core::PollSource&);
  core::Event carry_out(const core::PollForWindow&);
  core::Event polled(PollResult round, bool all_done);
  core::Event carry_out(const core::StartBatch&);
  core::Event carry_out(const core::CallHandler&);
  core::Event carry_out(const core::CallRows&);
  core::Event carry_out(const core::Settle&);
  core::Event carry_out(const core::ReleaseLane&);
  core::Event carry_out(const core::CloseSession&);
  core::Event carry_out(const core::WaitUntil&);
  core::Event carry_out(const core::Finish&);

  std::optional<Cursor> check_behind();
  core::Called call(const core::CallHandler& action);
  Calls& calls();
  std::vector<core::Answer> take_answers();
  void read_ahead(const std::optional<core::PollSource>& then);
  void notify(const std::function<void(Observer&)>& what) noexcept;
  void notify_changes();

  Parts parts_;
  Waker waker_;
  std::atomic<bool> wanted_ = true;
  std::atomic<bool> has_session_ = false;
  std::atomic<bool> finished_ = false;
  core::Lane lane_;
  LaneCounters counters_;
  std::unique_ptr<LaneSession> session_;
  std::unique_ptr<Calls> calls_;       ///< once several calls are to be in flight
  std::vector<core::Answer> unbegun_;  ///< rows that were not handed to them
  std::stop_token stop_;
  LaneStatus reported_;
  std::optional<std::uint64_t> checked_behind_at_;  ///< draining: the epoch
};

}  // namespace seriatim::runtime

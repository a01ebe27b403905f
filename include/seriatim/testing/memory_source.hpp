#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "seriatim/source.hpp"

namespace seriatim::testing {

/// An outbox and its cursors in memory, for testing handlers and relays without a server. Passes
/// the same contract suite as PostgreSQL. Ids are decimal numbers, given by `append`.
///
/// Threads: everything may be called from any thread, while relays run.
class MemorySource final : public Source {
 public:
  /// Rows `where` says no to are not this source's, as with PostgreSQL's `where`; empty: all are.
  using Where = std::function<bool(const Record&)>;
  explicit MemorySource(OrderBy order = OrderBy::created_at, Where where = {});
  ~MemorySource() override;

  /// Commits one row; answers its id.
  std::string append(Record row);

  /// Begins a transaction whose row has its place in the order now and appears at `commit`:
  /// the case that loses rows in sources without a fence.
  class Transaction {
   public:
    virtual ~Transaction() = default;  ///< rolls back what was not committed
    virtual std::string append(Record row) = 0;
    virtual void commit() = 0;
  };
  std::unique_ptr<Transaction> begin();

  /// What an operator's acts do to a lane. Each throws Error when it does not apply.
  void pause(const LaneId& lane);
  void resume(const LaneId& lane);
  void hold(const LaneId& lane, bool on);  ///< no call is announced meanwhile
  void retry(const LaneId& lane);
  void skip(const LaneId& lane, const std::string& id);
  /// Every parked row of a process is handed over again, in the order they were parked.
  void redrive(const std::string& process);
  /// Their ids, in that order.
  [[nodiscard]] std::vector<std::string> parked(const std::string& process) const;
  [[nodiscard]] Cursor cursor(const LaneId& lane) const;

  /// A fault: every open session throws SessionLost at its next call.
  void drop_sessions();

  Lane open(const LaneId& lane, const ProcessConfig& config, const std::string& holder,
            Waker& waker) override;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace seriatim::testing

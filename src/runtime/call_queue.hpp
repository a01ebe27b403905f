#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/calls.hpp"

namespace seriatim::runtime {

/// What all ways to make several calls at once share: the rows that wait for their call, the calls
/// in flight, and the answers.
///
/// Threads: protected members are used with `mutex_` locked.
class CallQueue : public Calls {
 public:
  explicit CallQueue(CallNeeds needs) : needs_(std::move(needs)) {}

  void begin_until(Time not_after) final;
  void begin(std::shared_ptr<const Record> row) final;
  void revoke() final;
  std::vector<core::Answer> take() final;
  Time earliest_deadline() final;

 protected:
  using Lock = std::unique_lock<std::mutex>;
  struct Call {
    std::shared_ptr<const Record> row;
    Time began;
    std::multiset<Time>::iterator deadline;
  };

  /// A row more waits. Throws std::system_error if a thread cannot be had.
  virtual void row_waits() = 0;
  /// Some thread will take the rows that wait.
  [[nodiscard]] virtual bool can_go_on() const = 0;

  [[nodiscard]] bool has_rows() const { return !rows_.empty(); }
  [[nodiscard]] std::size_t rows_waiting() const { return rows_.size(); }
  /// The next row, if it may still begin.
  [[nodiscard]] std::optional<Call> next_call();
  [[nodiscard]] CallContext context_of(const Call& call) const;
  void answer(const Call& call, Outcome outcome);
  /// Makes a call; unlocked while the handler works.
  void make(const Call& call, Handler& handler, Lock& lock);

  std::mutex mutex_;

 private:
  void give_back();
  void add(core::Answer answer);

  const CallNeeds needs_;
  std::deque<std::shared_ptr<const Record>> rows_;
  std::vector<core::Answer> answers_;
  std::multiset<Time> deadlines_;
  Time not_after_;
};

}  // namespace seriatim::runtime

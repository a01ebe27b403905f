#include "runtime/call_queue.hpp"

#include <system_error>
#include <utility>

namespace seriatim::runtime {

void CallQueue::begin_until(Time not_after) {
  const std::scoped_lock lock(mutex_);
  not_after_ = not_after;
}

/// Without a further thread rows wait for those that are there. Without any, for the next attempt.
void CallQueue::begin(std::shared_ptr<const Record> row) {
  const std::scoped_lock lock(mutex_);
  rows_.push_back(std::move(row));
  try {
    row_waits();
  } catch (const std::system_error&) {
    if (!can_go_on()) give_back();
  }
}

void CallQueue::revoke() {
  const std::scoped_lock lock(mutex_);
  give_back();
}

std::vector<core::Answer> CallQueue::take() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(answers_, {});
}

CallQueue::Time CallQueue::earliest_deadline() {
  const std::scoped_lock lock(mutex_);
  return deadlines_.empty() ? Time::max() : *deadlines_.begin();
}

std::optional<CallQueue::Call> CallQueue::next_call() {
  while (!rows_.empty()) {
    auto row = std::move(rows_.front());
    rows_.pop_front();
    const auto began = std::chrono::steady_clock::now();
    if (began <= not_after_) {
      return Call{std::move(row), began, deadlines_.insert(began + needs_.handler_deadline)};
    }
    add({row->sequence, std::nullopt, {}});
  }
  return std::nullopt;
}

CallContext CallQueue::context_of(const Call& call) const {
  return {*call.deadline, *call.deadline, needs_.stop};
}

void CallQueue::answer(const Call& call, Outcome outcome) {
  deadlines_.erase(call.deadline);
  add({call.row->sequence, std::move(outcome), std::chrono::steady_clock::now() - call.began});
}

void CallQueue::make(const Call& call, Handler& handler, Lock& lock) {
  const auto context = context_of(call);
  lock.unlock();
  auto outcome = call_one(handler, *call.row, context);
  lock.lock();
  answer(call, std::move(outcome));
}

void CallQueue::give_back() {
  for (const auto& row : std::exchange(rows_, {})) {
    answers_.push_back({row->sequence, std::nullopt, {}});
  }
}

void CallQueue::add(core::Answer answer) {
  answers_.push_back(std::move(answer));
  if (answers_.size() == 1) needs_.wake();
}

}  // namespace seriatim::runtime

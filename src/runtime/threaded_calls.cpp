#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "core/mutant.hpp"
#include "runtime/broken_answer.hpp"
#include "runtime/calls.hpp"

namespace seriatim::runtime {

namespace {

class ThreadedCalls final : public Calls {
 public:
  ThreadedCalls(std::vector<std::unique_ptr<Handler>> handlers, CallNeeds needs)
      : handlers_(std::move(handlers)), needs_(std::move(needs)) {}

  ~ThreadedCalls() override {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    work_.notify_all();
  }

  void begin_until(Time not_after) override {
    const std::scoped_lock lock(mutex_);
    not_after_ = not_after;
  }

  /// Threads begin when they are first needed: a lane with few rows needs few.
  void begin(std::shared_ptr<const Record> row) override {
    const std::scoped_lock lock(mutex_);
    rows_.push_back(std::move(row));
    if (rows_.size() > idle_ && threads_.size() < handlers_.size()) add_thread();
    work_.notify_one();
  }

  void revoke() override {
    const std::scoped_lock lock(mutex_);
    for (const auto& row : rows_) answers_.push_back({row->sequence, std::nullopt, {}});
    rows_.clear();
  }

  std::vector<core::Answer> take() override {
    const std::scoped_lock lock(mutex_);
    return std::exchange(answers_, {});
  }

  Time earliest_deadline() override {
    const std::scoped_lock lock(mutex_);
    return deadlines_.empty() ? Time::max() : *deadlines_.begin();
  }

 private:
  /// Without a further thread rows wait for those that are there. Without any, for the next
  /// attempt.
  void add_thread() {
    try {
      auto& handler = *handlers_[threads_.size()];
      threads_.emplace_back([this, &handler] { work(handler); });
    } catch (const std::system_error&) {
      if (!threads_.empty()) return;
      for (const auto& row : std::exchange(rows_, {})) {
        answers_.push_back({row->sequence, std::nullopt, {}});
      }
    }
  }

  void work(Handler& handler) {
    std::unique_lock lock(mutex_);
    for (;;) {
      idle_ += 1;
      work_.wait(lock, [this] { return ended_ || !rows_.empty(); });
      idle_ -= 1;
      if (ended_) return;
      const auto row = std::move(rows_.front());
      rows_.pop_front();
      answers_.push_back(call(handler, *row, lock));
      if (answers_.size() == 1) needs_.wake();
    }
  }

  /// Unlocked while the handler works.
  core::Answer call(Handler& handler, const Record& row, std::unique_lock<std::mutex>& lock) {
    const auto began = std::chrono::steady_clock::now();
    if (began > not_after_) return {row.sequence, std::nullopt, {}};
    const auto deadline = deadlines_.insert(began + needs_.handler_deadline);
    const CallContext context{*deadline, *deadline, needs_.stop};
    lock.unlock();
    auto outcome = call_one(handler, row, context);
    const auto took = std::chrono::steady_clock::now() - began;
    lock.lock();
    deadlines_.erase(deadline);
    return {row.sequence, std::move(outcome), took};
  }

  std::vector<std::unique_ptr<Handler>> handlers_;
  const CallNeeds needs_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::shared_ptr<const Record>> rows_;  ///< that wait for their call
  std::vector<core::Answer> answers_;
  std::multiset<Time> deadlines_;
  Time not_after_;
  std::size_t idle_ = 0;  ///< threads
  bool ended_ = false;
  std::vector<std::jthread> threads_;  ///< the last member: they use the others
};

}  // namespace

std::unique_ptr<Calls> threaded_calls(std::vector<std::unique_ptr<Handler>> handlers,
                                      CallNeeds needs) {
  return std::make_unique<ThreadedCalls>(std::move(handlers), std::move(needs));
}

Outcome call_one(Handler& handler, const Record& row, const CallContext& context) {
  try {
    auto answer = call_checked(handler, {&row, 1}, context);
    if (answer.done == 1) return Outcome::done();
    return std::move(answer.next).value_or(Outcome::retry_later("the handler did nothing"));
  } catch (const BrokenAnswer& broken) {
    return Outcome::unknown_and_halt(broken.what());
  } catch (const std::exception& thrown) {
    return Outcome::retry_later(std::string("the handler threw: ") + thrown.what());
  } catch (...) {
    return Outcome::retry_later("the handler threw something that is no std::exception");
  }
}

}  // namespace seriatim::runtime

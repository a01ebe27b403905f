#include <condition_variable>
#include <thread>
#include <utility>

#include "runtime/broken_answer.hpp"
#include "runtime/call_queue.hpp"

namespace seriatim::runtime {

namespace {

class ThreadedCalls final : public CallQueue {
 public:
  ThreadedCalls(std::vector<std::unique_ptr<Handler>> handlers, CallNeeds needs)
      : CallQueue(std::move(needs)), handlers_(std::move(handlers)) {}

  ~ThreadedCalls() override {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    work_.notify_all();
  }

 private:
  /// Threads begin when they are first needed: a lane with few rows needs few.
  void row_waits() override {
    work_.notify_one();
    if (rows_waiting() <= idle_ || threads_.size() == handlers_.size()) return;
    auto& handler = *handlers_[threads_.size()];
    threads_.emplace_back([this, &handler] { work(handler); });
  }
  [[nodiscard]] bool can_go_on() const override { return !threads_.empty(); }

  void work(Handler& handler) {
    Lock lock(mutex_);
    for (;;) {
      idle_ += 1;
      work_.wait(lock, [this] { return ended_ || has_rows(); });
      idle_ -= 1;
      if (ended_) return;
      if (const auto call = next_call()) make(*call, handler, lock);
    }
  }

  std::vector<std::unique_ptr<Handler>> handlers_;
  std::condition_variable work_;
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

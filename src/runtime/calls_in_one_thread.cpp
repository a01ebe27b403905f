#include <utility>

#include "runtime/call_queue.hpp"

namespace seriatim::runtime {

namespace {

class CallsInOneThread final : public CallQueue {
 public:
  CallsInOneThread(std::vector<std::unique_ptr<Handler>> handlers,
                   std::unique_ptr<CallThread> thread, CallNeeds needs)
      : CallQueue(std::move(needs)), handlers_(std::move(handlers)), thread_(std::move(thread)) {
    for (const auto& handler : handlers_) idle_.push_back(handler.get());
  }

  ~CallsInOneThread() override {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }

 private:
  void row_waits() override {
    if (idle_.empty()) return;
    auto* handler = idle_.back();
    thread_->run([this, handler] { work(*handler); });
    idle_.pop_back();
  }
  [[nodiscard]] bool can_go_on() const override { return idle_.size() < handlers_.size(); }

  /// Until no row waits.
  void work(Handler& handler) {
    Lock lock(mutex_);
    while (!ended_) {
      const auto call = next_call();
      if (!call) break;
      make(*call, handler, lock);
    }
    idle_.push_back(&handler);
  }

  std::vector<std::unique_ptr<Handler>> handlers_;
  std::vector<Handler*> idle_;
  bool ended_ = false;
  std::unique_ptr<CallThread> thread_;  ///< the last member: its calls use the others
};

}  // namespace

std::unique_ptr<Calls> calls_in_one_thread(std::vector<std::unique_ptr<Handler>> handlers,
                                           std::unique_ptr<CallThread> thread, CallNeeds needs) {
  return std::make_unique<CallsInOneThread>(std::move(handlers), std::move(thread),
                                            std::move(needs));
}

}  // namespace seriatim::runtime

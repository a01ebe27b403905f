#include <atomic>
#include <condition_variable>
#include <future>
#include <thread>
#include <utility>

#include "runtime/call_queue.hpp"

namespace seriatim {

class Completion::Call {
 public:
  explicit Call(Answer answer) : answer_(std::move(answer)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { answer(Outcome::retry_later("the handler dropped the call and did not answer it")); }

  bool answer(Outcome outcome) {
    if (answered_.exchange(true)) return false;
    answer_(std::move(outcome));
    return true;
  }

 private:
  const Answer answer_;
  std::atomic<bool> answered_ = false;
};

Completion::Completion(Answer answer) : call_(std::make_shared<Call>(std::move(answer))) {}

bool Completion::operator()(Outcome outcome) const {
  return call_->answer(std::move(outcome));
}

namespace runtime {

namespace {

/// Keeps a copy of the completion, so that an exception is not taken for a call that was dropped.
void begin_call(AsyncHandler& handler, const Record& row, const CallContext& context,
                const Completion& done) {
  try {
    handler.begin(row, context, done);
  } catch (const CannotRender& cannot) {
    done(Outcome::poison(cannot.what()));
  } catch (const std::exception& thrown) {
    done(Outcome::retry_later(std::string("the handler threw: ") + thrown.what()));
  } catch (...) {
    done(Outcome::retry_later("the handler threw something that is no std::exception"));
  }
}

/// Begins calls in a thread of its own. A thread that answers may hold locks which `begin` needs,
/// so it does not begin the next call.
class AsyncCalls final : public CallQueue {
 public:
  AsyncCalls(std::shared_ptr<AsyncHandler> handler, unsigned in_flight, CallNeeds needs)
      : CallQueue(std::move(needs)), handler_(std::move(handler)), in_flight_max_(in_flight) {}

  ~AsyncCalls() override {
    Lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return in_flight_ == 0; });
  }

 private:
  void row_waits() override {
    if (!thread_.joinable()) thread_ = std::jthread([this] { work(); });
    changed_.notify_all();
  }
  [[nodiscard]] bool can_go_on() const override { return thread_.joinable(); }

  void work() {
    Lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || (has_rows() && in_flight_ < in_flight_max_); });
      if (ended_) return;
      if (auto call = next_call()) begin_one(*std::move(call), lock);
    }
  }

  void begin_one(Call call, Lock& lock) {
    in_flight_ += 1;
    const auto context = context_of(call);
    const auto row = call.row;
    lock.unlock();
    begin_call(*handler_, *row, context,
               Completion([this, call = std::move(call)](Outcome outcome) {
                 const Lock answering(mutex_);
                 answer(call, std::move(outcome));
                 in_flight_ -= 1;
                 changed_.notify_all();  // locked: this may be destroyed afterwards
               }));
    lock.lock();
  }

  std::shared_ptr<AsyncHandler> handler_;
  const unsigned in_flight_max_;
  std::condition_variable changed_;
  unsigned in_flight_ = 0;
  bool ended_ = false;
  std::jthread thread_;  ///< the last member: it uses the others
};

/// For one call at a time.
class WaitingHandler final : public RecordHandler {
 public:
  explicit WaitingHandler(std::shared_ptr<AsyncHandler> handler) : handler_(std::move(handler)) {}

  Outcome handle_record(const Record& record, const CallContext& context) override {
    auto given = context;
    given.transaction = nullptr;  // it belongs to this thread
    const auto answer = std::make_shared<std::promise<Outcome>>();
    begin_call(*handler_, record, given,
               Completion([answer](Outcome outcome) { answer->set_value(std::move(outcome)); }));
    return answer->get_future().get();
  }

 private:
  std::shared_ptr<AsyncHandler> handler_;
};

}  // namespace

std::unique_ptr<Calls> async_calls(std::shared_ptr<AsyncHandler> handler, unsigned in_flight,
                                   CallNeeds needs) {
  return std::make_unique<AsyncCalls>(std::move(handler), in_flight, std::move(needs));
}

std::unique_ptr<Handler> waiting_for(std::shared_ptr<AsyncHandler> handler) {
  return std::make_unique<WaitingHandler>(std::move(handler));
}

}  // namespace runtime

}  // namespace seriatim

#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

#include "seriatim/handler.hpp"

namespace seriatim {

/// Answers one call. Copies answer the same call: the first answer counts.
///
/// Threads: any, also within `begin`, and at any time, also after the relay is gone.
/// If the last copy is destroyed before one was called, the record counts as `retry_later`.
/// Answer `unknown` yourself if the receiver may have the record.
class Completion {
 public:
  using Answer = std::function<void(Outcome)>;

  /// For tests of a handler: `answer` is called once. It must not throw.
  explicit Completion(Answer answer);

  /// False if the call was answered before: `outcome` is dropped.
  bool operator()(Outcome outcome) const;

 private:
  class Call;

  std::shared_ptr<Call> call_;
};

/// Hands records to a receiver without a thread for each call: `begin` starts a call and returns,
/// and a completion answers it later. With `in_flight = N` up to N calls of a lane are in flight,
/// of different keys; with `in_flight = 1` one after another.
///
/// Threads: one instance a lane. `begin` is called on one thread, one call after another. It should
/// not wait, since it holds up the calls that are to begin after it. Start the call at once: if
/// this program loses the database, another relay may have the lane three seconds later. Ownership:
/// the relay owns the handler, and destroys it after every call was answered. The record is valid
/// until its call is answered, `context` until `begin` returns. Deadline: a call should be answered
/// before `context.deadline`. Nothing ends a call that is late: it is still waited for, since
/// nothing may overtake it, and it holds up the end of the lane. So give your receiver a time-out.
/// `context.stop` is requested when the relay is to end. It is a hint: the calls in flight still
/// have to be answered. `context.transaction` is null. Errors: an expected failure is an Outcome.
/// If `begin` throws CannotRender the record counts as `poison`, and after any other exception as
/// `retry_later`. If the call is already answered, that answer counts.
class AsyncHandler {
 public:
  AsyncHandler() = default;
  AsyncHandler(const AsyncHandler&) = delete;
  AsyncHandler& operator=(const AsyncHandler&) = delete;
  virtual ~AsyncHandler() = default;

  virtual void begin(const Record& record, const CallContext& context, Completion done) = 0;
};

/// Makes the handler of one lane. Called once a lane, on the thread that calls Relay::add.
using AsyncHandlerFactory = std::function<std::unique_ptr<AsyncHandler>(unsigned lane)>;

/// A callable `void(const Record&, const CallContext&, Completion)` is a handler too. With more
/// than one lane it is called from several threads at once.
template <std::invocable<const Record&, const CallContext&, Completion> F>
[[nodiscard]] AsyncHandlerFactory async_handler_from(F function) {
  class Callback final : public AsyncHandler {
   public:
    explicit Callback(F f) : function_(std::move(f)) {}
    void begin(const Record& record, const CallContext& context, Completion done) override {
      function_(record, context, std::move(done));
    }

   private:
    F function_;
  };
  return
      [function = std::move(function)](unsigned) { return std::make_unique<Callback>(function); };
}

}  // namespace seriatim

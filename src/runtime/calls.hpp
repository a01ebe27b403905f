#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/action.hpp"
#include "seriatim/async_handler.hpp"
#include "seriatim/handler.hpp"

namespace seriatim::runtime {

/// The calls of one lane that run next to it. Each row that is begun is answered once.
///
/// Threads: used by the lane's thread.
class Calls {
 public:
  using Time = core::Time;

  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  /// Waits for the calls that were begun.
  virtual ~Calls() = default;

  /// No call begins after this, nor one of those handed over before.
  virtual void begin_until(Time not_after) = 0;
  virtual void begin(std::shared_ptr<const Record> row) = 0;
  /// Rows that wait for their call are answered as not begun.
  virtual void revoke() = 0;
  /// The answers that came since the last time. A new one wakes the lane.
  virtual std::vector<core::Answer> take() = 0;
  /// Of the calls in flight, the deadline that comes first; Time::max() if there is none.
  [[nodiscard]] virtual Time earliest_deadline() = 0;
};

/// What calls need of the lane.
struct CallNeeds {
  std::chrono::milliseconds handler_deadline{0};
  std::stop_token stop{};
  std::function<void()> wake{};  ///< an answer is there; called from any thread
};

/// Up to as many calls at once as there are handlers, each in a thread of its own that it keeps.
[[nodiscard]] std::unique_ptr<Calls> threaded_calls(std::vector<std::unique_ptr<Handler>> handlers,
                                                    CallNeeds needs);

/// Up to as many calls at once as there are handlers, all in one thread.
[[nodiscard]] std::unique_ptr<Calls> calls_in_one_thread(
    std::vector<std::unique_ptr<Handler>> handlers, std::unique_ptr<CallThread> thread,
    CallNeeds needs);

/// Up to `in_flight` calls at once that the handler answers when it can.
[[nodiscard]] std::unique_ptr<Calls> async_calls(std::shared_ptr<AsyncHandler> handler,
                                                 unsigned in_flight, CallNeeds needs);

/// The same handler, which waits for the answer of each call.
[[nodiscard]] std::unique_ptr<Handler> waiting_for(std::shared_ptr<AsyncHandler> handler);

/// What a handler makes of one row. A handler that throws has failed at it.
[[nodiscard]] Outcome call_one(Handler& handler, const Record& row, const CallContext& context);

}  // namespace seriatim::runtime

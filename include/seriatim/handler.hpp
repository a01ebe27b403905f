#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include "seriatim/call_thread.hpp"
#include "seriatim/outcome.hpp"
#include "seriatim/record.hpp"
#include "seriatim/rendering.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim {

/// What a handler gets with the records.
struct CallContext {
  /// The call must return before this. A call that is late is still waited for, because nothing may
  /// overtake it. But another relay may take the lane meanwhile, and the answer is then dropped.
  std::chrono::steady_clock::time_point deadline;
  /// Start no further record of the batch after this: the lane wants to commit what is done.
  std::chrono::steady_clock::time_point yield_at;
  /// Asked to stop: finish the record in flight, start no further one of the batch.
  std::stop_token stop;
  /// The transaction that moves the cursor, if the store can lend one; else null. What a handler
  /// wrote there for rows that it does not report as done is committed too, unless the handler
  /// calls `rollback_to_savepoint`.
  Transaction* transaction = nullptr;
  /// True once the connection to the database is known to be lost: another relay may have the lane,
  /// so start no further record of the batch. Never waits; empty: never lost.
  std::function<bool()> is_lost = {};

  /// Start no further record of the batch. Ask before each but the first.
  [[nodiscard]] bool should_yield() const {
    return stop.stop_requested() || std::chrono::steady_clock::now() >= yield_at ||
           (is_lost && is_lost());
  }
};

/// Hands records to a receiver.
///
/// Threads: one instance per lane, called on that lane's thread only, never two calls at once. With
/// `in_flight` above 1, see HandlerFactory.
/// Order: records arrive in lane order; a batch is answered as a confirmed prefix.
/// Errors: an expected failure is an Outcome. Anything thrown counts as `retry_later`, and no row
/// of the call as done; only a RecordHandler may throw CannotRender. An answer that does not fit
/// its call (see BatchOutcome) halts the lane with UNKNOWN_OUTCOME: no row of the call counts as
/// delivered, and nothing written in `CallContext::transaction` is kept. Other lanes go on.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler() = default;

  /// The core form. `batch` is never empty and is valid for the call only.
  virtual BatchOutcome handle(std::span<const Record> batch, const CallContext& context) = 0;

  /// What `handle` would send for the record if it came alone, with secrets masked. Connects to
  /// nobody and writes nothing. Empty: this handler cannot show it. Throws CannotRender if the
  /// record cannot be sent as it is, so that `handle` would answer `poison`.
  [[nodiscard]] virtual std::optional<Rendering> render(const Record& /*record*/) {
    return std::nullopt;
  }

  /// With `in_flight` above 1, one of a lane's handlers is asked for the thread in which all of
  /// them are called. Null: each gets a thread of its own. A wrapper passes the question on.
  [[nodiscard]] virtual std::unique_ptr<CallThread> make_call_thread() { return nullptr; }
};

/// The usual form: one record, one outcome.
class RecordHandler : public Handler {
 public:
  /// CannotRender counts as `poison`: throw it before anything is sent.
  virtual Outcome handle_record(const Record& record, const CallContext& context) = 0;

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) final {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (i > 0 && context.should_yield()) return {i, std::nullopt};
      auto outcome = outcome_of(batch[i], context);
      if (!outcome.is_done()) return {i, std::move(outcome)};
    }
    return {batch.size(), std::nullopt};
  }

 private:
  Outcome outcome_of(const Record& record, const CallContext& context) {
    try {
      return handle_record(record, context);
    } catch (const CannotRender& e) {
      return Outcome::poison(e.what());
    }
  }
};

/// Makes the handler of one lane. Called once per lane, on the thread that starts the relay. With
/// `in_flight` above 1, called once for each call that may be in flight, and once more: each of
/// these handlers is called by one thread at a time.
using HandlerFactory = std::function<std::unique_ptr<Handler>(unsigned lane)>;

/// A callable `Outcome(const Record&)` or `Outcome(const Record&, const CallContext&)` is a handler
/// too. With more than one lane it is called from several threads at once.
template <class F>
requires std::invocable<F&, const Record&> || std::invocable<F&, const Record&, const CallContext&>
[[nodiscard]] HandlerFactory handler_from(F function) {
  class Callback final : public RecordHandler {
   public:
    explicit Callback(F f) : function_(std::move(f)) {}
    Outcome handle_record(const Record& record, const CallContext& context) override {
      if constexpr (std::invocable<F&, const Record&, const CallContext&>) {
        return function_(record, context);
      } else {
        return function_(record);
      }
    }

   private:
    F function_;
  };
  return
      [function = std::move(function)](unsigned) { return std::make_unique<Callback>(function); };
}

}  // namespace seriatim

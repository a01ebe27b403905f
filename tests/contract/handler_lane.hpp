#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "contract/broker_under_test.hpp"
#include "seriatim/handler.hpp"

namespace seriatim::testing {

/// The handler as a configuration would make it; a complaint about its options fails the test.
std::unique_ptr<Handler> make_handler(void (*register_kind)(HandlerRegistry&),
                                      const BrokerUnderTest& broker);

/// Rows 1 … n of lane 0 of process "p".
std::vector<Record> make_rows(std::size_t count);

/// What a lane does with a handler, and nothing else: rows in batches, from the first one that is
/// not confirmed; a failure is tried again.
///
/// Threads: `deliver…` on one; the counters may be read by others.
class HandlerLane {
 public:
  using milliseconds = std::chrono::milliseconds;

  HandlerLane(std::unique_ptr<Handler> handler, std::vector<Record> rows,
              std::size_t batch_rows = 100)
      : handler_(std::move(handler)),
        rows_(std::move(rows)),
        batch_rows_(batch_rows),
        allowed_(rows_.size()) {}

  /// One call for the next batch.
  BatchOutcome call(milliseconds limit = milliseconds{10'000}, const std::stop_token& stop = {});
  /// Calls until a failure, or all is confirmed.
  std::optional<Outcome> deliver_until_failure();
  /// Calls until all is confirmed; false at poison. A call after one that failed gets more time
  /// than it. Throws where no row is confirmed for minutes.
  bool deliver_all(milliseconds limit_of_a_call = milliseconds{2'000});
  /// Rows after these wait in `call` until a later `allow` (from any thread) names more.
  void allow(std::size_t rows);
  /// An operator skips the row that failed; its number is used up.
  void set_aside() { rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(confirmed())); }

  [[nodiscard]] const std::vector<Record>& rows() const { return rows_; }
  [[nodiscard]] std::size_t confirmed() const { return confirmed_; }
  [[nodiscard]] std::size_t failures() const { return failures_; }
  [[nodiscard]] std::size_t batch_rows() const { return batch_rows_; }

 private:
  std::unique_ptr<Handler> handler_;
  std::vector<Record> rows_;
  std::size_t batch_rows_;
  std::atomic<std::size_t> confirmed_{0};
  std::atomic<std::size_t> failures_{0};
  std::atomic<std::size_t> allowed_;
};

}  // namespace seriatim::testing

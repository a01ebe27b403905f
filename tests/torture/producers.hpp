#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace seriatim::testing {

/// What concurrent writers do to an outbox, at its worst: transactions open for 0–500 ms that
/// commit out of order, roll back, use savepoints, are prepared and committed by someone else.
///
/// Threads: one per writer. Everything is drawn from `seed`, so a run can be told apart; timing is
/// the machine's.
class Producers {
 public:
  struct Options {
    std::string url;
    unsigned writers = 8;
    std::uint64_t seed = 1;
    std::chrono::milliseconds open_max{500};
    unsigned rollback_percent = 5;
    unsigned prepare_percent = 5;
    unsigned savepoint_percent = 20;
    unsigned long_percent = 10;  ///< of the transactions stay open up to open_max, others 20 ms
  };

  /// Creates table `torture` where there is none.
  explicit Producers(Options options);
  ~Producers();
  Producers(const Producers&) = delete;
  Producers& operator=(const Producers&) = delete;

  void start();
  /// Waits for the transactions in hand; throws what stopped a writer.
  void stop();

  [[nodiscard]] unsigned transactions() const { return transactions_; }
  [[nodiscard]] unsigned reconnects() const { return reconnects_; }

 private:
  void write(const std::stop_token& stop, unsigned writer);

  Options options_;
  std::atomic<unsigned> transactions_ = 0;
  std::atomic<unsigned> reconnects_ = 0;
  std::vector<std::jthread> writers_;
};

/// Ids of committed rows of `torture` in the declared order: "created_at" or "id".
std::vector<std::string> committed_ids(const std::string& url, const std::string& order_by);

}  // namespace seriatim::testing

#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace seriatim::lab {

/// One session of an application.
class Writer {
 public:
  virtual ~Writer() = default;
  /// One transaction, and the pause after it.
  virtual void transact() = 0;
};

/// Concurrent writers, each on a thread of its own.
///
/// Errors: stop() throws the first thing that ended a writer.
class Writers {
 public:
  struct Options {
    unsigned count = 1;
    /// Connects writer `number`, so many rounds after its first.
    std::function<std::unique_ptr<Writer>(unsigned number, std::uint64_t round)> open;
    /// SqlFailed does not end a writer: it connects anew.
    bool reconnects = false;
    /// While false, no transaction is begun.
    std::function<bool()> may_begin = [] { return true; };
  };

  explicit Writers(Options options) : options_(std::move(options)) {}
  ~Writers() { request_stop(); }
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  void start();
  /// Waits for the transactions in flight.
  void stop();
  /// Nobody is inside a transaction.
  [[nodiscard]] bool quiet() const { return active_ == 0; }

 private:
  void write(const std::stop_token& stop, unsigned number);
  void write_round(const std::stop_token& stop, unsigned number, std::uint64_t round);
  void note_failure();
  void request_stop();

  const Options options_;
  std::atomic<unsigned> active_ = 0;
  std::mutex mutex_;
  std::exception_ptr failed_;
  std::vector<std::jthread> threads_;
};

}  // namespace seriatim::lab

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/alerts/alert_receiver.hpp"
#include "app/log.hpp"

namespace seriatim::app {

/// Sends what is due, until it is accepted, on a thread and a connection of its own: a receiver
/// that never answers holds up neither lanes nor judging.
class AlertSender {
 public:
  struct Parts {
    std::string url;                     ///< of the database
    std::vector<std::string> processes;  ///< whose alerts it sends; '' among them
    const AlertsConfig& config;
    const Secrets& secrets;
    Log& log;
  };
  explicit AlertSender(Parts parts);
  ~AlertSender();

  /// There is something to send.
  void wake();
  /// A message that the database does not know, because it is away. Tried until it is accepted.
  void send(postgres::AlertMessage message);

  /// It ends soon; the destructor waits for that.
  void stop() { thread_.request_stop(); }

  /// Some that the database does not know are not accepted yet.
  [[nodiscard]] bool has_messages();

  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }

 private:
  void run(const std::stop_token& stop);
  void send_from_memory(const std::stop_token& stop);
  void send_from_database(const std::stop_token& stop);
  /// Whether it was accepted; else `error` says why not.
  bool try_once(const postgres::AlertMessage& message, std::string& error,
                const std::stop_token& stop);

  Parts parts_;
  AlertReceiver receiver_;
  postgres::Records records_;
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool due_ = false;
  std::deque<postgres::AlertMessage> in_memory_;
  std::jthread thread_;
};

}  // namespace seriatim::app

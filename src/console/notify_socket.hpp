#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace seriatim::console {

/// Reports to the service manager (sd_notify(3)): a datagram to the socket that
/// NOTIFY_SOCKET names. Without that variable it does nothing. What cannot be sent is dropped: the
/// service manager never holds up delivery.
///
/// Threads: any.
class NotifySocket {
 public:
  /// `path`: the value of NOTIFY_SOCKET; "@" in front means an abstract socket. Empty: none.
  /// `watchdog`: WATCHDOG_USEC, how often at least the manager wants to hear that we live.
  NotifySocket(std::string_view path, std::optional<std::chrono::microseconds> watchdog);
  ~NotifySocket();
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  [[nodiscard]] bool is_open() const { return socket_ >= 0; }
  /// How often to call `watchdog`: a third of what is asked. Absent: never.
  [[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval() const;

  void ready() { send("READY=1"); }
  void status(std::string_view text) { send("STATUS=" + std::string(text)); }
  void watchdog() { send("WATCHDOG=1"); }
  void stopping() { send("STOPPING=1"); }
  /// The stop takes so long yet.
  void extend_timeout(std::chrono::microseconds time) {
    send("EXTEND_TIMEOUT_USEC=" + std::to_string(time.count()));
  }

 private:
  void send(const std::string& text) noexcept;

  int socket_ = -1;
  std::string address_;  ///< a sockaddr_un
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace seriatim::console

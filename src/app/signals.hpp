#pragma once

#include <signal.h>

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>

namespace seriatim::app {

/// SIGTERM, SIGINT and SIGHUP as a stop token. The first asks for a clean stop; the second, or the
/// end of `grace` after the first, ends the program at once with 128 + its number: what was in
/// flight then counts as a crash and is handed over again.
///
/// SIGHUP is left alone if the program was started with it ignored (nohup).
/// Not a second one: SIGHUP, which a closed terminal sends several times (the kernel, then the
/// shell), and the first one again within a second, as timeout(1) sends it.
///
/// Threads: construct before threads that do not block these signals themselves. The destructor
/// gives the signals their usual effect back, so whatever still hangs then can be ended as usual.
class Signals {
 public:
  enum class Second { ends_at_once, is_ignored };

  /// `notified` is called on the first signal, on this object's thread.
  explicit Signals(std::chrono::milliseconds grace, std::function<void(int)> notified = {},
                   Second second = Second::ends_at_once);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void watch(std::chrono::milliseconds grace, const std::function<void(int)>& notified,
             Second second);
  [[nodiscard]] int wait_for_second(int first, std::chrono::milliseconds grace,
                                    Second second) const;

  std::stop_source stop_;
  sigset_t before_{};
  int signal_fd_ = -1;
  int end_fd_ = -1;
  std::thread thread_;
};

/// Sleeps; false when `stop` was asked meanwhile.
bool sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace seriatim::app

#include "app/signals.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>

#include "app/output.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds repeat_max{1};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&set, number);
  struct sigaction at_start {};
  ::sigaction(SIGHUP, nullptr, &at_start);
  if (at_start.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // else: nohup
  return set;
}

/// The number of the next signal; 0 when the time is over or `end_fd` says so.
int next_signal(int signal_fd, int end_fd, int timeout_ms) {
  std::array<pollfd, 2> watched{{{signal_fd, POLLIN, 0}, {end_fd, POLLIN, 0}}};
  while (::poll(watched.data(), watched.size(), timeout_ms) < 0) {
  }
  signalfd_siginfo info{};
  if ((watched[0].revents & POLLIN) == 0) return 0;
  return ::read(signal_fd, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                              : 0;
}

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

}  // namespace

Signals::Signals(std::chrono::milliseconds grace, std::function<void(int)> notified,
                 Second second) {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  signal_fd_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  end_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (signal_fd_ < 0 || end_fd_ < 0) throw Error("no file descriptors left to watch signals with");
  thread_ = std::thread(
      [this, grace, notified = std::move(notified), second] { watch(grace, notified, second); });
}

Signals::~Signals() {
  ::eventfd_write(end_fd_, 1);
  thread_.join();
  ::close(signal_fd_);
  ::close(end_fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

/// 0: the grace is over, or this object ends.
int Signals::wait_for_second(int first, std::chrono::milliseconds grace, Second second) const {
  const auto began = Clock::now();
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(began + grace - Clock::now());
    const int next = next_signal(signal_fd_, end_fd_, static_cast<int>(std::max(left.count(), 0L)));
    if (next == 0) return 0;
    const bool again = next == SIGHUP || (next == first && Clock::now() - began < repeat_max);
    if (!again && second == Second::ends_at_once) return next;
  }
}

void Signals::watch(std::chrono::milliseconds grace, const std::function<void(int)>& notified,
                    Second second) {
  const int first = next_signal(signal_fd_, end_fd_, -1);
  if (first == 0) return;
  if (notified) notified(first);
  stop_.request_stop();
  const int another = wait_for_second(first, grace, second);
  if (another == 0 && is_readable(end_fd_)) return;
  complain(another != 0 ? "seriatim: second signal, ending at once\n"
                        : "seriatim: the grace is over, ending at once\n");
  ::_exit(128 + (another != 0 ? another : first));
}

bool sleep_unless_stopped(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any changed;
  changed.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace seriatim::app

#include "postgres/wire/watchdog.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace seriatim::postgres {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds check_interval_max{1'000};
constexpr milliseconds check_interval_min{10};

/// How long nothing has come in; a Unix-domain socket does not say.
milliseconds silent_for(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return milliseconds::max();
  return milliseconds{info.tcpi_last_data_recv};
}

}  // namespace

/// All watches of the program and the thread that checks them, from the first one on.
class Watchdogs {
 public:
  static Watchdogs& instance() {
    static auto& watchers = *new Watchdogs;  // outlives every static that has a connection
    return watchers;
  }
  void add(Watchdog* watch) {
    const std::scoped_lock guard(mutex_);
    all_.push_back(watch);
    if (!thread_.joinable()) {
      thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
  }
  void remove(Watchdog* watch) {
    const std::scoped_lock guard(mutex_);
    std::erase(all_, watch);
  }
  /// Checks often enough for this limit from now on.
  void check_within(milliseconds limit) {
    const auto interval = std::clamp(limit / 4, check_interval_min, check_interval_max);
    if (interval >= interval_.load()) return;
    const std::scoped_lock guard(mutex_);
    interval_ = interval;
    changed_.notify_all();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock guard(mutex_);
    while (!stop.stop_requested()) {
      const auto interval = interval_.load();
      changed_.wait_for(guard, stop, interval, [&] { return interval_.load() < interval; });
      for (auto* watch : all_) watch->check();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Watchdog*> all_;
  std::atomic<milliseconds> interval_ = check_interval_max;
  std::jthread thread_;
};

Watchdog::Watchdog(int socket) : socket_(socket) {
  Watchdogs::instance().add(this);
}

Watchdog::~Watchdog() {
  Watchdogs::instance().remove(this);
}

void Watchdog::ask(Question question) {
  question_ = std::move(question);
}

void Watchdog::expect(milliseconds silence_max) {
  Watchdogs::instance().check_within(silence_max);
  silence_max_ = silence_max.count();
  due_ = (Clock::now() + silence_max).time_since_epoch().count();
}

void Watchdog::check() {
  const auto due = due_.load();
  if (Clock::now().time_since_epoch().count() < due || asking_) return;
  if (silent_for(socket_).count() < silence_max_) return;
  if (!question_) return end();
  asking_ = true;
  asks_ = std::jthread([this, due] { ask_and_judge(due); });
}

void Watchdog::ask_and_judge(Clock::rep due) {
  const bool still_to_come = question_();
  auto next = (Clock::now() + milliseconds(silence_max_)).time_since_epoch().count();
  // Not where it was answered meanwhile, and another may be owed by now.
  if (!still_to_come && due_ == due) end();
  if (still_to_come) due_.compare_exchange_strong(due, next);
  asking_ = false;
}

void Watchdog::end() {
  ended_ = true;
  due_ = never;
  ::shutdown(socket_, SHUT_RDWR);
}

}  // namespace seriatim::postgres

#include "support/fiber_thread.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/fd.hpp"
#include "support/fiber.hpp"
#include "support/readiness.hpp"

namespace seriatim::handlers {

namespace {

using Clock = std::chrono::steady_clock;
using Call = std::function<void()>;

static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR &&
              POLLHUP == EPOLLHUP);

int milliseconds_until(Clock::time_point deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 60'000));
}

short poll_for(int descriptor, short events, Clock::time_point deadline) {
  pollfd ready{descriptor, events, 0};
  for (;;) {
    if (::poll(&ready, 1, milliseconds_until(deadline)) > 0) return ready.revents;
    if (Clock::now() >= deadline) return 0;
  }
}

Fd opened(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return Fd(descriptor);
}

class FiberThread final : public CallThread {
 public:
  ~FiberThread() override {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    if (thread_.joinable()) rouse();
  }

  void run(Call call) override {
    const std::scoped_lock lock(mutex_);
    if (!thread_.joinable()) start();
    arrived_.push_back(std::move(call));
    if (arrived_.size() == 1) rouse();
  }

  /// By a call. Its descriptor stays registered, and disarmed, until it is closed: one system call
  /// a wait, as poll(2) is.
  short wait(int descriptor, short events, Clock::time_point deadline) {
    auto& worker = *working_;
    if (!arm(descriptor, events, worker)) return poll_for(descriptor, events, deadline);
    const auto timer = timers_.emplace(deadline, &worker);
    worker.came = 0;
    worker.fiber.suspend();
    timers_.erase(timer);
    if (worker.came == 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    return worker.came;
  }

 private:
  struct Worker {
    explicit Worker(FiberThread& thread)
        : fiber(fiber_stack_bytes, [this, &thread] { thread.work(*this); }) {}

    Fiber fiber;
    short came = 0;  ///< of the events that it waits for
  };

  void start() {
    epoll_ = opened(::epoll_create1(EPOLL_CLOEXEC), "epoll");
    rouser_ = opened(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
    epoll_event event{EPOLLIN, {.ptr = nullptr}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, rouser_.get(), &event) != 0) {
      throw std::system_error(errno, std::generic_category(), "epoll");
    }
    thread_ = std::jthread([this] { loop(); });
  }
  void rouse() const { (void)::eventfd_write(rouser_.get(), 1); }

  bool arm(int descriptor, short events, Worker& worker) const {
    epoll_event event{static_cast<std::uint32_t>(events) | EPOLLONESHOT, {.ptr = &worker}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0) return true;
    return errno == ENOENT && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
  }

  void loop() {
    while (take_calls()) {
      begin_calls();
      resume_ready();
      resume_late();
    }
    for (const auto& worker : workers_) worker->fiber.resume();  // their bodies return
  }

  /// False once all is done.
  bool take_calls() {
    const std::scoped_lock lock(mutex_);
    std::move(arrived_.begin(), arrived_.end(), std::back_inserter(waiting_));
    arrived_.clear();
    over_ = ended_ && waiting_.empty() && idle_.size() == workers_.size();
    return !over_;
  }

  /// Without memory for a further fiber, calls wait for those that are there.
  void begin_calls() {
    while (!waiting_.empty() && (!idle_.empty() || add_worker())) {
      auto& worker = *idle_.back();
      idle_.pop_back();
      resume(worker);
    }
    if (!workers_.empty()) return;
    for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()();
  }
  bool add_worker() try {
    idle_.reserve(workers_.size() + 1);
    workers_.push_back(std::make_unique<Worker>(*this));
    idle_.push_back(workers_.back().get());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  /// On a fiber.
  void work(Worker& worker) {
    while (!over_) {
      while (!waiting_.empty()) {
        const auto call = std::move(waiting_.front());
        waiting_.pop_front();
        call();
      }
      idle_.push_back(&worker);
      worker.fiber.suspend();
    }
  }
  void resume(Worker& worker);

  void resume_ready() {
    std::array<epoll_event, 64> events{};
    const int timeout = timers_.empty() ? -1 : milliseconds_until(timers_.begin()->first);
    const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), timeout);
    for (int i = 0; i < count; ++i) {
      const auto& event = events[static_cast<std::size_t>(i)];
      if (auto* worker = static_cast<Worker*>(event.data.ptr)) {
        worker->came = static_cast<short>(event.events);
        resume(*worker);
      } else {
        eventfd_t times = 0;
        (void)::eventfd_read(rouser_.get(), &times);
      }
    }
  }
  void resume_late() {
    const auto now = Clock::now();
    while (!timers_.empty() && timers_.begin()->first <= now) resume(*timers_.begin()->second);
  }

  std::mutex mutex_;
  std::deque<Call> arrived_;  ///< these two with `mutex_`
  bool ended_ = false;
  Fd epoll_;
  Fd rouser_;

  // Of the thread alone.
  std::deque<Call> waiting_;
  std::multimap<Clock::time_point, Worker*> timers_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  Worker* working_ = nullptr;
  bool over_ = false;

  std::jthread thread_;  ///< the last member: it uses the others
};

/// Whose call runs in this thread.
constinit thread_local FiberThread* fiber_thread = nullptr;

void FiberThread::resume(Worker& worker) {
  working_ = &worker;
  fiber_thread = this;
  worker.fiber.resume();
  fiber_thread = nullptr;
}

}  // namespace

std::unique_ptr<CallThread> make_fiber_thread() {
  return std::make_unique<FiberThread>();
}

short wait_for_events(int descriptor, short events, Clock::time_point deadline) {
  if (fiber_thread) return fiber_thread->wait(descriptor, events, deadline);
  return poll_for(descriptor, events, deadline);
}

}  // namespace seriatim::handlers

#pragma once

#include <chrono>

namespace seriatim {

/// Makes `wait_until` of a reader return. Outlives readers; safe from any thread and,
/// `wake` only, from signal handlers.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake() noexcept;
  void clear() noexcept;
  [[nodiscard]] int fd() const { return fd_; }  ///< readable while woken: for poll(2)
  /// Sleeps until woken (true) or the deadline (false).
  bool wait_until(std::chrono::steady_clock::time_point deadline) const;

 private:
  int fd_;
};

}  // namespace seriatim

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace seriatim::handlers {

/// Code that waits like a thread, but only between `resume` and its next `suspend`: whoever resumes
/// it decides what happens when. The body has to return before the fiber is destroyed.
///
/// Threads: one for all of its life.
class Fiber {
 public:
  /// Throws std::bad_alloc. A page that ends the program when it is touched lies below the stack.
  Fiber(std::size_t stack_bytes, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Returns when the body suspends, or has returned.
  void resume();
  /// By the body.
  void suspend();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers

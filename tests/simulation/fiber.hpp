#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <functional>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace seriatim::simulation {

/// Runs code that waits, like a thread, but only between `resume` and its next `wait`: whoever
/// resumes it decides what happens when.
///
/// Destroying it unwinds the code, as the death of a process does.
class Fiber : public std::enable_shared_from_this<Fiber> {
 public:
  struct Unwound {};  ///< no std::exception, so that no code takes it for one of its own

  explicit Fiber(std::function<void()> body)
      : body_(std::move(body)),
        inside_(std::allocator_arg, Stack(bottom_), [this](Context&& outside) {
          arrive();
          outside_ = std::move(outside);
          try {
            if (!unwinding_) body_();
          } catch (const Unwound&) {
          }
          ended_ = true;
          leave(true);
          return std::move(outside_);
        }) {}
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
    unwinding_ = true;
    if (!ended_) resume();
  }

  /// Lets the code go on; returns when it waits again, or has ended.
  void resume() {
    enter();
    inside_ = std::move(inside_).resume();
    back();
  }
  /// By the code itself: back to who resumed it.
  void wait() {
    if (unwinding_) throw Unwound{};
    leave(false);
    outside_ = std::move(outside_).resume();
    arrive();
    if (unwinding_) throw Unwound{};
  }
  [[nodiscard]] bool has_ended() const { return ended_; }

 private:
  using Context = boost::context::fiber;
  static constexpr std::size_t stack_size = 256 * 1024;
  /// Remembers where the stack is, because AddressSanitizer must know.
  class Stack {
   public:
    explicit Stack(const void*& bottom) : bottom_(&bottom) {}
    boost::context::stack_context allocate() {
      auto stack = memory_.allocate();
      *bottom_ = static_cast<const char*>(stack.sp) - stack.size;
      return stack;
    }
    void deallocate(boost::context::stack_context& stack) { memory_.deallocate(stack); }

   private:
    boost::context::fixedsize_stack memory_{stack_size};
    const void** bottom_;
  };

#if defined(__SANITIZE_ADDRESS__)
  void enter() {
    __sanitizer_start_switch_fiber(&outer_frames_, bottom_, stack_size);
  }
  void back() {
    __sanitizer_finish_switch_fiber(outer_frames_, nullptr, nullptr);
  }
  void arrive() {
    __sanitizer_finish_switch_fiber(inner_frames_, &outer_bottom_, &outer_size_);
  }
  void leave(bool for_good) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &inner_frames_, outer_bottom_, outer_size_);
  }
  void* outer_frames_ = nullptr;
  void* inner_frames_ = nullptr;
  const void* outer_bottom_ = nullptr;
  std::size_t outer_size_ = 0;
#else
  void enter() {}
  void back() {}
  void arrive() {}
  void leave(bool) {}
#endif

  std::function<void()> body_;
  const void* bottom_ = nullptr;
  bool unwinding_ = false;
  bool ended_ = false;
  Context outside_;
  Context inside_;
};

}  // namespace seriatim::simulation

#include "support/fiber.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SERIATIM_FIBERS_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define SERIATIM_FIBERS_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(SERIATIM_FIBERS_ASAN)
#include <sanitizer/common_interface_defs.h>
#define SERIATIM_FIBERS_ASAN
#elif defined(__SANITIZE_THREAD__) || defined(SERIATIM_FIBERS_TSAN)
#include <sanitizer/tsan_interface.h>
#define SERIATIM_FIBERS_TSAN
#endif

namespace seriatim::handlers {

namespace {

using Context = boost::context::fiber;

#if defined(SERIATIM_FIBERS_ASAN)
/// AddressSanitizer has to know which stack is in use.
class SwitchNotes {
 public:
  void made(const void* bottom, std::size_t size) {
    bottom_ = bottom;
    size_ = size;
  }
  void enter() { __sanitizer_start_switch_fiber(&outer_frames_, bottom_, size_); }
  void entered() { __sanitizer_finish_switch_fiber(inner_frames_, &outer_bottom_, &outer_size_); }
  void leave(bool for_good) {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &inner_frames_, outer_bottom_, outer_size_);
  }
  void left() { __sanitizer_finish_switch_fiber(outer_frames_, nullptr, nullptr); }

 private:
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
  void* outer_frames_ = nullptr;
  void* inner_frames_ = nullptr;
  const void* outer_bottom_ = nullptr;
  std::size_t outer_size_ = 0;
};
#elif defined(SERIATIM_FIBERS_TSAN)
/// ThreadSanitizer has a clock and a call stack for each fiber. It counts functions that begin and
/// end, so a switch must not be in a function of its own.
class SwitchNotes {
 public:
  SwitchNotes() = default;
  SwitchNotes(const SwitchNotes&) = delete;
  SwitchNotes& operator=(const SwitchNotes&) = delete;
  ~SwitchNotes() { __tsan_destroy_fiber(inner_); }

  void made(const void*, std::size_t) {}
  [[gnu::always_inline]] void enter() {
    outer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(inner_, 0);
  }
  void entered() {}
  void leave(bool) {}
  [[gnu::always_inline]] void left() { __tsan_switch_to_fiber(outer_, 0); }

 private:
  void* inner_ = __tsan_create_fiber(0);
  void* outer_ = nullptr;
};
#else
class SwitchNotes {
 public:
  void made(const void*, std::size_t) {}
  void enter() {}
  void entered() {}
  void leave(bool) {}
  void left() {}
};
#endif

/// Notes where the stack is.
class NotedStack {
 public:
  NotedStack(std::size_t size, SwitchNotes& notes) : memory_(size), notes_(&notes) {}
  boost::context::stack_context allocate() {
    auto stack = memory_.allocate();
    notes_->made(static_cast<const char*>(stack.sp) - stack.size, stack.size);
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) noexcept { memory_.deallocate(stack); }

 private:
  boost::context::protected_fixedsize_stack memory_;
  SwitchNotes* notes_;
};

}  // namespace

class Fiber::Impl {
 public:
  Impl(std::size_t stack_bytes, std::function<void()> body)
      : body_(std::move(body)),
        inside_(std::allocator_arg, NotedStack(stack_bytes, notes_), [this](Context&& outside) {
          notes_.entered();
          outside_ = std::move(outside);
          body_();
          notes_.leave(true);
          return std::move(outside_);
        }) {}

  void resume() {
    notes_.enter();
    inside_ = std::move(inside_).resume();
    notes_.left();
  }
  void suspend() {
    notes_.leave(false);
    outside_ = std::move(outside_).resume();
    notes_.entered();
  }

 private:
  std::function<void()> body_;
  SwitchNotes notes_;
  Context outside_;
  Context inside_;
};

Fiber::Fiber(std::size_t stack_bytes, std::function<void()> body)
    : impl_(std::make_unique<Impl>(stack_bytes, std::move(body))) {}

Fiber::~Fiber() = default;

void Fiber::resume() {
  impl_->resume();
}

void Fiber::suspend() {
  impl_->suspend();
}

}  // namespace seriatim::handlers

#pragma once

#include <functional>

namespace seriatim {

/// One thread for many calls: while a call waits for its receiver, the thread goes on with others.
///
/// Threads: `run` may be called from any. Destroying it waits for the calls that it was given.
class CallThread {
 public:
  CallThread() = default;
  CallThread(const CallThread&) = delete;
  CallThread& operator=(const CallThread&) = delete;
  virtual ~CallThread() = default;

  /// Returns at once. `call` throws nothing. Throws std::system_error if no thread can be had.
  virtual void run(std::function<void()> call) = 0;
};

}  // namespace seriatim

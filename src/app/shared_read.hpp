#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

namespace seriatim::app {

/// A costly read that several may ask for at once. Those who ask while it is made share its answer.
/// An answer that took d to read serves for `rest_factor` · d, so reading takes at most a twentieth
/// of the time, however many ask. Nothing is read unless somebody asks.
///
/// Threads: any number. Errors: what `read` throws goes to all who wait for it, and the next who
/// asks reads again.
template <class T>
class SharedRead {
 public:
  using Clock = std::chrono::steady_clock;
  using Answer = std::shared_ptr<const T>;
  static constexpr int rest_factor = 20;

  explicit SharedRead(
      std::function<T()> read, std::function<Clock::time_point()> now = [] { return Clock::now(); })
      : read_(std::move(read)), now_(std::move(now)) {}

  Answer get() {
    std::unique_lock lock(mutex_);
    if (latest_ && now_() < good_until_) return latest_;
    if (reading_.valid()) {
      const auto reading = reading_;
      lock.unlock();
      return reading.get();
    }
    std::promise<Answer> promise;
    reading_ = promise.get_future().share();
    const auto reading = reading_;
    lock.unlock();
    read_for(promise);
    return reading.get();
  }

  /// What is read was changed by a person, who waits to see it: the next who asks reads again.
  void expire() {
    const std::scoped_lock lock(mutex_);
    good_until_ = {};
    expired_ = reading_.valid();
  }

 private:
  void read_for(std::promise<Answer>& promise) {
    const auto began = now_();
    try {
      auto answer = std::make_shared<const T>(read_());
      const std::lock_guard lock(mutex_);
      const auto ended = now_();
      latest_ = answer;
      good_until_ = expired_ ? ended : ended + rest_factor * (ended - began);
      expired_ = false;
      reading_ = {};
      promise.set_value(std::move(answer));
    } catch (...) {
      const std::lock_guard lock(mutex_);
      reading_ = {};
      promise.set_exception(std::current_exception());
    }
  }

  std::function<T()> read_;
  std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::shared_future<Answer> reading_;  ///< valid while somebody reads
  Answer latest_;
  Clock::time_point good_until_{};
  bool expired_ = false;  ///< since the read under way began
};

}  // namespace seriatim::app

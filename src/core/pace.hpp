#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/event.hpp"
#include "seriatim/config.hpp"

namespace seriatim::core {

/// When a row may be called by `rate_limit` and `key_rate_limit`. Pure: the time comes from
/// outside.
///
/// Each limit is a token bucket. It fills at the rate, and holds what comes in `burst_time`, at
/// least one row. Kept is only when it will be full again (the generic cell rate algorithm, ITU-T
/// I.371, annex A), so a key costs one number, and none once its bucket is full.
class Pace {
 public:
  using Key = std::optional<std::string>;

  /// Several lanes share the limit of the process in equal parts, without asking one another.
  explicit Pace(const ProcessConfig& config);

  [[nodiscard]] bool limits() const { return of_process_.limits() || limits_keys(); }
  [[nodiscard]] bool limits_keys() const { return of_key_.limits(); }
  /// When the next row may be called, as far as other keys are concerned.
  [[nodiscard]] Time free_at() const;
  /// … the next row of this key, as far as the key is concerned.
  [[nodiscard]] Time key_free_at(const Key&) const;
  [[nodiscard]] bool is_free(const Key&, Time now) const;
  /// So many rows may be called until `burst_time` from now.
  [[nodiscard]] std::size_t free_soon(Time now) const;
  /// When that is one more than `rows`.
  [[nodiscard]] Time more_free_at(std::size_t rows, Time now) const;
  /// A row of this key is called.
  void take(const Key&, Time now);
  /// It was not called after all.
  void give_back(const Key&);
  [[nodiscard]] std::size_t known_keys() const { return keys_.size(); }

  static constexpr std::chrono::milliseconds burst_time{100};
  /// Of so many rows called last the keys are kept, so that memory is bounded.
  static constexpr std::size_t kept_max = 100'000;

 private:
  class Bucket {
   public:
    Bucket(const RateLimit& limit, unsigned parts);
    [[nodiscard]] bool limits() const { return interval_.count() > 0; }
    [[nodiscard]] Time free_at(Time full_at) const { return full_at - tolerance_; }
    [[nodiscard]] std::chrono::nanoseconds interval() const { return interval_; }
    /// When it is full again, after one more was taken.
    [[nodiscard]] Time take(Time full_at, Time now) const {
      return std::max(full_at, now) + interval_;
    }

   private:
    std::chrono::nanoseconds interval_{0};
    std::chrono::nanoseconds tolerance_{0};
  };

  void remember(const Key&, Time full_at);
  void forget(Time now);

  Bucket of_process_;
  Bucket of_key_;
  std::optional<Time> full_at_;
  std::map<Key, Time> keys_;                 ///< full at
  std::deque<std::pair<Time, Key>> called_;  ///< what `keys_` was set to
};

}  // namespace seriatim::core

#pragma once

#include <chrono>

namespace seriatim::core {

/// How many rows a prune deletes at once, and how long it then lets others go first. While a batch
/// is open its lock holds the fence of the table, so batches are kept near `batch_target` and take
/// at most a fifth of the time.
class PrunePace {
 public:
  static constexpr std::chrono::microseconds batch_target{20'000};
  static constexpr std::chrono::microseconds pause_min{2'000};
  static constexpr std::chrono::microseconds pause_max{2'000'000};
  static constexpr int pause_share = 4;  ///< a batch is followed by so many times its length
  static constexpr unsigned rows_min = 10;

  explicit PrunePace(unsigned rows_max);

  [[nodiscard]] unsigned rows() const { return rows_; }
  /// After a batch that took so long: the pause.
  std::chrono::microseconds took(std::chrono::microseconds time);
  /// After a batch that others' locks refused: the pause, longer each time in a row.
  std::chrono::microseconds refused();
  [[nodiscard]] unsigned refusals() const { return refusals_; }

 private:
  unsigned rows_max_;
  unsigned rows_;
  unsigned refusals_ = 0;
};

}  // namespace seriatim::core

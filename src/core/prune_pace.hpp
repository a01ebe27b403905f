#pragma once

#include <chrono>

namespace seriatim::core {

/// How many rows a prune deletes at once, and how long it then lets others go first. While a batch
/// is open its lock holds the fence of the table, so batches are kept near `batch_target` and take
/// at most a fifth of the time. Where half the rows take as long, it is not the rows: a way of many
/// milliseconds to the server, say. Then batches may take half as long again, `aim_max` at most.
class PrunePace {
 public:
  static constexpr std::chrono::microseconds batch_target{20'000};
  static constexpr std::chrono::microseconds aim_max{200'000};
  static constexpr unsigned aim_batches = 20;  ///< then half the rows are tried anew
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
  using microseconds = std::chrono::microseconds;

  void judge_halving(microseconds time);

  unsigned rows_max_;
  unsigned rows_;
  unsigned refusals_ = 0;
  microseconds aim_ = batch_target;
  unsigned aim_left_ = 0;        ///< batches until it is `batch_target` again
  microseconds halved_after_{};  ///< what the batch took that made the next one smaller
};

}  // namespace seriatim::core

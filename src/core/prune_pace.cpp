#include "core/prune_pace.hpp"

#include <algorithm>
#include <utility>

namespace seriatim::core {

using std::chrono::microseconds;

namespace {

constexpr unsigned rows_first = 100;
constexpr unsigned refusal_doublings_max = 5;
constexpr microseconds refusal_pause{100'000};

}  // namespace

PrunePace::PrunePace(unsigned rows_max)
    : rows_max_(rows_max), rows_(std::min(rows_max, rows_first)) {}

/// A batch of half the rows that takes three quarters of the time, or more, was not long for its
/// rows.
void PrunePace::judge_halving(microseconds time) {
  if (aim_left_ > 0 && --aim_left_ == 0) aim_ = batch_target;
  const auto before = std::exchange(halved_after_, microseconds{0});
  if (before == microseconds{0} || time <= batch_target || time * 4 < before * 3) return;
  aim_ = std::min(time + time / 2, aim_max);
  aim_left_ = aim_batches;
  rows_ = std::min(rows_max_, rows_ * 2);
}

microseconds PrunePace::took(microseconds time) {
  refusals_ = 0;
  judge_halving(time);
  if (time > aim_) {
    const auto fewer = std::max(std::min(rows_min, rows_max_), rows_ / 2);
    if (fewer < rows_) halved_after_ = time;
    rows_ = fewer;
  } else if (time * 4 < aim_ * 3) {
    rows_ = std::min(rows_max_, rows_ + rows_ / 4 + 1);
  }
  return std::clamp(time * pause_share, pause_min, pause_max);
}

microseconds PrunePace::refused() {
  const auto doublings = std::min(refusals_++, refusal_doublings_max);
  return std::min(refusal_pause * (1 << doublings), pause_max);
}

}  // namespace seriatim::core

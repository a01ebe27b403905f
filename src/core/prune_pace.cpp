#include "core/prune_pace.hpp"

#include <algorithm>

namespace seriatim::core {

using std::chrono::microseconds;

namespace {

constexpr unsigned rows_first = 100;
constexpr unsigned refusal_doublings_max = 5;
constexpr microseconds refusal_pause{100'000};

}  // namespace

PrunePace::PrunePace(unsigned rows_max)
    : rows_max_(rows_max), rows_(std::min(rows_max, rows_first)) {}

microseconds PrunePace::took(microseconds time) {
  refusals_ = 0;
  if (time > batch_target) {
    rows_ = std::max(std::min(rows_min, rows_max_), rows_ / 2);
  } else if (time < batch_target / 2) {
    rows_ = std::min(rows_max_, rows_ + rows_ / 4 + 1);
  }
  return std::clamp(time * pause_share, pause_min, pause_max);
}

microseconds PrunePace::refused() {
  const auto doublings = std::min(refusals_++, refusal_doublings_max);
  return std::min(refusal_pause * (1 << doublings), pause_max);
}

}  // namespace seriatim::core

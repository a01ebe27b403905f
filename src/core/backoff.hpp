#pragma once

#include <optional>

#include "seriatim/config.hpp"

namespace seriatim::core {

/// How long to wait after the `failures`-th failure in a row (1, 2, …). `random` in [0, 1).
/// The receiver's `retry_after` is a lower bound, itself cut to `retry_after_max`.
[[nodiscard]] std::chrono::milliseconds backoff(
    const BackoffConfig& config, unsigned failures, double random,
    std::optional<std::chrono::milliseconds> retry_after = std::nullopt);

}  // namespace seriatim::core

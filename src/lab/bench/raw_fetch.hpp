#pragma once

#include "lab/bench/stage.hpp"

namespace seriatim::bench {

/// Rows a second of a bare keyset loop through libpq: no lock, no fence, no cursor.
[[nodiscard]] double raw_fetch(Stage& stage, OrderBy order, std::uint64_t after,
                               std::uint64_t rows);

}  // namespace seriatim::bench

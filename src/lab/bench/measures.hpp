#pragma once

#include "lab/bench/stage.hpp"

namespace seriatim::bench {

// One bench each, in a file of its own. Figures that are whole are in the report even if a later
// one throws.
void measure_null(Stage& stage, Report& report);
void measure_http(Stage& stage, Report& report);
void measure_kafka(Stage& stage, Report& report);
void measure_sql(Stage& stage, Report& report);
void measure_latency(Stage& stage, Report& report);
void measure_idle(Stage& stage, Report& report);

/// Lets a relay deliver `rows` rows and notes its rate, and what it cost if `figure` says so.
void drain(Stage& stage, RelaySpec spec, std::uint64_t rows, Figure& figure);

}  // namespace seriatim::bench

#pragma once

#include <chrono>
#include <vector>

#include "app/alerts/alert_sender.hpp"
#include "app/metrics/families.hpp"
#include "app/reports.hpp"
#include "seriatim/counts.hpp"

namespace seriatim::app {

struct SpanCounts;

/// Beyond so many lanes a process has no series for each: its counters are summed, and of its
/// gauges the worst lane's is given.
inline constexpr unsigned lane_series_max = 64;

/// What this relay has counted. docs/metrics.md names every metric.
void add_relay_metrics(const std::vector<LaneCounts>& lanes, Families& families);

/// What the database says of all processes, whoever runs them: the same from every relay, so
/// queries take the maximum over relays. `now` is the time of the read.
void add_status_metrics(const LaneReports& lanes, std::chrono::system_clock::time_point now,
                        Families& families);

/// Messages on alerts, by what became of them.
void add_alert_metrics(const AlertSender& sender, Families& families);
/// What became of the spans of this relay.
void add_span_metrics(const SpanCounts& spans, Families& families);

/// CPU, memory, open files and start of this program, as the Prometheus client libraries name them.
void add_program_metrics(Families& families);

}  // namespace seriatim::app

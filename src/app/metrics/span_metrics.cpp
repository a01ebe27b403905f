#include "app/metrics/metrics.hpp"
#include "app/traces/span_exporter.hpp"

namespace seriatim::app {

void add_span_metrics(const SpanCounts& spans, Families& families) {
  families.counter_family("spans_total", "spans of calls, by what became of them");
  const auto add = [&](const char* result, std::uint64_t count) {
    families.counter({{"result", result}}, static_cast<double>(count));
  };
  add("sent", spans.sent);
  add("dropped", spans.dropped);
  add("rejected", spans.rejected);
  add("failed", spans.failed);
}

}  // namespace seriatim::app

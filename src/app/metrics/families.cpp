#include "app/metrics/families.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <sstream>

namespace seriatim::app {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

Families& Families::gauge_family(const std::string& name, const std::string& help) {
  return open(name, help, MetricType::Gauge);
}

Families& Families::counter_family(const std::string& name, const std::string& help) {
  return open(name, help, MetricType::Counter);
}

Families& Families::histogram_family(const std::string& name, const std::string& help) {
  return open(name, help, MetricType::Histogram);
}

Families& Families::open(const std::string& name, const std::string& help, MetricType type) {
  MetricFamily family;
  family.name = (name.starts_with("process_") ? "" : "seriatim_") + name;
  family.help = help;
  family.type = type;
  all_.push_back(std::move(family));
  return *this;
}

ClientMetric& Families::add(const Labels& labels) {
  ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return all_.back().metric.emplace_back(std::move(metric));
}

void Families::gauge(const Labels& labels, double value) {
  add(labels).gauge.value = value;
}

void Families::counter(const Labels& labels, double value) {
  add(labels).counter.value = value;
}

void Families::histogram(const Labels& labels, const Histogram& histogram) {
  auto& out = add(labels).histogram;
  out.sample_sum = histogram.sum;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    out.sample_count += histogram.counts[i];
    const bool last = i == histogram.bounds.size();
    out.bucket.push_back(
        {out.sample_count, last ? std::numeric_limits<double>::infinity() : histogram.bounds[i]});
  }
}

std::vector<MetricFamily> Families::take() {
  std::erase_if(all_, [](const MetricFamily& family) { return family.metric.empty(); });
  return std::move(all_);
}

namespace {

/// OpenMetrics names a counter's family without the "_total" that its samples have.
std::string open_metrics_line(const std::string& line) {
  constexpr std::string_view total = "_total";
  const bool about = line.starts_with("# HELP ") || line.starts_with("# TYPE ");
  const auto end = about ? line.find(' ', 7) : std::string::npos;
  const bool counter = end != std::string::npos && end >= 7 + total.size() &&
                       line.compare(end - total.size(), total.size(), total) == 0;
  return counter ? line.substr(0, end - total.size()) + line.substr(end) : line;
}

}  // namespace

std::string exposition(const std::vector<MetricFamily>& families, bool open_metrics) {
  const auto text = prometheus::TextSerializer().Serialize(families);
  if (!open_metrics) return text;
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += open_metrics_line(line) + '\n';
  return out + "# EOF\n";
}

}  // namespace seriatim::app

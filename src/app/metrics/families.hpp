#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "seriatim/counts.hpp"

namespace seriatim::app {

/// Metrics of one scrape, built family by family: `family` opens one, the others add to it.
class Families {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  /// `name` without "seriatim_".
  Families& gauge_family(const std::string& name, const std::string& help);
  Families& counter_family(const std::string& name, const std::string& help);
  Families& histogram_family(const std::string& name, const std::string& help);

  void gauge(const Labels& labels, double value);
  void counter(const Labels& labels, double value);
  void histogram(const Labels& labels, const Histogram& histogram);

  /// Those that have at least one series.
  [[nodiscard]] std::vector<prometheus::MetricFamily> take();

 private:
  Families& open(const std::string& name, const std::string& help, prometheus::MetricType type);
  prometheus::ClientMetric& add(const Labels& labels);

  std::vector<prometheus::MetricFamily> all_;
};

/// The text a scrape answers. `open_metrics`: as application/openmetrics-text 1.0.0, else as
/// text/plain 0.0.4.
[[nodiscard]] std::string exposition(const std::vector<prometheus::MetricFamily>& families,
                                     bool open_metrics);

}  // namespace seriatim::app

#include "lab/bench/figure.hpp"

#include <algorithm>
#include <cmath>

namespace seriatim::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = std::ceil(share * static_cast<double>(values.size())) - 1;
  return values[static_cast<std::size_t>(
      std::clamp(at, 0.0, static_cast<double>(values.size() - 1)))];
}

void Figure::note(const std::string& sample, double value) {
  const auto found = std::find_if(measured.begin(), measured.end(),
                                  [&](const Samples& one) { return one.name == sample; });
  if (found != measured.end()) {
    found->values.push_back(value);
  } else {
    measured.push_back({sample, {value}});
  }
}

std::vector<double> Figure::ratios() const {
  std::vector<double> found;
  for (std::size_t i = 0; i < std::min(rates.size(), limits.size()); ++i) {
    if (limits[i] > 0) found.push_back(rates[i] / limits[i]);
  }
  return found;
}

double Figure::ratio() const {
  return median(ratios());
}

}  // namespace seriatim::bench

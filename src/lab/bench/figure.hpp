#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace seriatim::bench {

/// The middle one, or the mean of the two in the middle; 0 of none.
[[nodiscard]] double median(std::vector<double> values);
/// The value below which so large a share lies.
[[nodiscard]] double percentile(std::vector<double> values, double share);

/// What one measurement found, repeat by repeat, the limit taken next to each.
struct Figure {
  using Facts = std::vector<std::pair<std::string, std::string>>;
  struct Samples {
    std::string name;  ///< with its unit: "cpu_s_per_100k_rows"
    std::vector<double> values;
  };

  std::string name;  ///< "null.id"
  std::string what;
  std::string limit;           ///< what the limit is, in words; empty: there is none
  std::vector<double> rates;   ///< rows a second
  std::vector<double> limits;  ///< rows a second, by the same repeats
  Facts settings;
  std::vector<Samples> measured;  ///< next to the rate

  void note(const std::string& sample, double value);
  [[nodiscard]] double ratio() const;  ///< median of the repeats' own; 0 without a limit
  [[nodiscard]] std::vector<double> ratios() const;
};

/// All that one run of a bench has to report.
struct Report {
  std::string bench;
  std::string server;  ///< its version
  std::vector<Figure> figures;
  std::vector<std::string> left_out;  ///< what could not be measured, and why
  bool interrupted = false;
};

/// For people.
[[nodiscard]] std::string report_text(const Report& report);
/// One JSON object on one line.
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace seriatim::bench

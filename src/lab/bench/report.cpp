#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdio>

#include "lab/bench/figure.hpp"

namespace seriatim::bench {

namespace {

using boost::json::object;
using boost::json::value;

std::string text_of(double number) {
  std::array<char, 40> text{};
  const bool whole = std::abs(number) >= 1'000;
  std::snprintf(text.data(), text.size(), whole ? "%.0f" : "%.3g", number);
  return text.data();
}

double least(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

double most(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// Three decimals are more than any of these is good for.
double rounded(double number) {
  return std::round(number * 1'000) / 1'000;
}

value median_or_null(const std::vector<double>& values) {
  return values.empty() ? value() : value(rounded(median(values)));
}

object samples_json(const std::vector<double>& values) {
  return {{"median", rounded(median(values))},
          {"min", rounded(least(values))},
          {"max", rounded(most(values))}};
}

object figure_json(const Figure& figure) {
  object settings;
  for (const auto& [name, text] : figure.settings) settings[name] = text;
  object measured;
  for (const auto& sample : figure.measured) measured[sample.name] = samples_json(sample.values);
  const auto ratios = figure.ratios();
  return {{"name", figure.name},
          {"what", figure.what},
          {"rows_per_s", median_or_null(figure.rates)},
          {"min", rounded(least(figure.rates))},
          {"max", rounded(most(figure.rates))},
          {"repeats", figure.rates.size()},
          {"limit", figure.limit},
          {"limit_rows_per_s", median_or_null(figure.limits)},
          {"limit_min", rounded(least(figure.limits))},
          {"limit_max", rounded(most(figure.limits))},
          {"ratio", median_or_null(ratios)},
          {"ratio_min", rounded(least(ratios))},
          {"ratio_max", rounded(most(ratios))},
          {"measured", std::move(measured)},
          {"settings", std::move(settings)}};
}

std::string named(const std::string& name) {
  constexpr std::size_t column = 30;
  return "  " + name + std::string(name.size() < column ? column - name.size() : 1, ' ');
}

std::string range(const std::vector<double>& values) {
  return text_of(median(values)) + " (" + text_of(least(values)) + " to " + text_of(most(values)) +
         ')';
}

std::string figure_text(const Figure& figure) {
  std::string text = figure.name + ": " + figure.what + '\n';
  if (!figure.rates.empty()) text += named("rows a second") + range(figure.rates) + '\n';
  if (!figure.limits.empty()) {
    text += named("limit") + range(figure.limits) + ": " + figure.limit + '\n';
    text += named("ratio") + range(figure.ratios()) + '\n';
  }
  for (const auto& sample : figure.measured) {
    text += named(sample.name) + range(sample.values) + '\n';
  }
  std::string settings;
  for (const auto& [name, said] : figure.settings) {
    settings += (settings.empty() ? "" : ", ") + name + ' ' + said;
  }
  return text + named("with") + settings + '\n';
}

}  // namespace

std::string report_json(const Report& report) {
  boost::json::array figures;
  for (const auto& figure : report.figures) figures.push_back(figure_json(figure));
  boost::json::array left_out;
  for (const auto& one : report.left_out) left_out.emplace_back(one);
  return boost::json::serialize(object{{"bench", report.bench},
                                       {"server_version", report.server},
                                       {"interrupted", report.interrupted},
                                       {"figures", std::move(figures)},
                                       {"left_out", std::move(left_out)}}) +
         '\n';
}

std::string report_text(const Report& report) {
  std::string text = "PostgreSQL " + report.server + "; median (least to most) of the repeats\n\n";
  for (const auto& figure : report.figures) text += figure_text(figure) + '\n';
  for (const auto& one : report.left_out) text += "left out: " + one + '\n';
  if (report.interrupted) text += "interrupted\n";
  return text;
}

}  // namespace seriatim::bench

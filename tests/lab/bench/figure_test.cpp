#include <doctest/doctest.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "lab/bench/figure.hpp"
#include "lab/bench/waits.hpp"

using namespace seriatim::bench;

TEST_CASE("the median is the middle one, or the mean of two") {
  CHECK(median({}) == 0);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({9, 1, 5, 7}) == 6);
}

TEST_CASE("a percentile is a value that was measured") {
  CHECK(percentile({}, 0.5) == 0);
  CHECK(percentile({3, 1, 2}, 0.5) == 2);
  CHECK(percentile({3, 1, 2}, 0.99) == 3);
  CHECK(percentile({3, 1, 2}, 0) == 1);
}

TEST_CASE("the ratio is the median of what neighbouring repeats say, not of the medians") {
  Figure figure;
  figure.rates = {10, 20, 90};
  figure.limits = {100, 40, 100};
  CHECK(figure.ratio() == doctest::Approx(0.5));
  figure.limits = {0, 40};  // a limit that was not to be had counts for nothing
  CHECK(figure.ratio() == doctest::Approx(0.5));
}

TEST_CASE("a wait is judged by the oldest transaction that was open during it") {
  const std::int64_t ms = 1'000'000;
  Written written;
  written.committed_ns = {{1, 100 * ms}, {2, 500 * ms}, {3, 700 * ms}};
  written.held = {{40 * ms, 160 * ms}, {90 * ms, 130 * ms}, {600 * ms, 650 * ms}};
  const auto waits =
      waits_of(written, {{1, 162 * ms}, {2, 501 * ms}}, std::chrono::milliseconds{0});
  REQUIRE(waits.size() == 2);  // the third was never called
  CHECK(waits[0].ms == doctest::Approx(62));
  CHECK(waits[0].excess_ms == doctest::Approx(62 - 120));
  CHECK(waits[1].excess_ms == doctest::Approx(1));  // none was open
}

TEST_CASE("the first moments of a turn are left out, counted from its first commit") {
  const std::int64_t ms = 1'000'000;
  Written written;
  written.committed_ns = {{1, 1'000 * ms}, {2, 1'299 * ms}, {3, 1'300 * ms}};
  const std::map<std::int64_t, std::int64_t> called{
      {1, 1'001 * ms}, {2, 1'301 * ms}, {3, 1'303 * ms}};
  const auto waits = waits_of(written, called, std::chrono::milliseconds{300});
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].ms == doctest::Approx(3));
}

TEST_CASE("a figure without a limit says null, not zero") {
  Report report;
  report.figures.emplace_back();
  report.figures.back().note("p50_ms", 1.5);
  const auto parsed = boost::json::parse(report_json(report));
  const auto& figure = parsed.at("figures").at(0).as_object();
  CHECK(figure.at("rows_per_s").is_null());
  CHECK(figure.at("limit_rows_per_s").is_null());
  CHECK(figure.at("ratio").is_null());
  CHECK(figure.at("measured").at("p50_ms").at("median").to_number<double>() == 1.5);
}

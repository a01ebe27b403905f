#include <algorithm>
#include <fstream>
#include <thread>

#include "lab/bench/clock.hpp"
#include "lab/bench/measures.hpp"
#include "lab/bench/processes.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

constexpr unsigned many_lanes = 64;
constexpr unsigned seconds_default = 5;
constexpr std::uint64_t rows_behind = 5'000;  ///< delivered: what is checked while idle
constexpr std::chrono::milliseconds check_interval{50};

/// Statements of relays in the server's log (log_line_prefix '%a|', log_statement 'all').
std::uint64_t statements_in(const std::filesystem::path& log) {
  std::ifstream in(log);
  std::uint64_t count = 0;
  for (std::string line; std::getline(in, line);) {
    count +=
        line.rfind("seriatim/", 0) == 0 && (line.find("|LOG:  execute ") != std::string::npos ||
                                            line.find("|LOG:  statement: ") != std::string::npos);
  }
  return count;
}

struct Sample {
  std::int64_t at_ns = 0;
  double relay_cpu = 0;
  double backend_cpu = 0;
  std::uint64_t statements = 0;
};

Sample sample(Stage& stage, const RelayChild& relay) {
  const auto& log = stage.settings().server_log;
  return {now_ns(), cpu_seconds(relay.pid()), stage.backend_cpu(),
          log.empty() ? 0 : statements_in(log)};
}

void pass(Stage& stage, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    stage.check_stop();
    std::this_thread::sleep_for(check_interval);
  }
}

double lane_seconds(const Sample& from, const Sample& to, unsigned lanes) {
  return static_cast<double>(to.at_ns - from.at_ns) * 1e-9 * lanes;
}

void note_cpu(const Sample& from, const Sample& to, unsigned lanes, Figure& figure) {
  const auto seconds = lane_seconds(from, to, lanes);
  figure.note("relay_cpu_percent_per_lane", (to.relay_cpu - from.relay_cpu) / seconds * 100);
  figure.note("backend_cpu_percent_per_lane", (to.backend_cpu - from.backend_cpu) / seconds * 100);
}

double median_rss(const Figure& figure) {
  const auto found = std::find_if(figure.measured.begin(), figure.measured.end(),
                                  [](const auto& each) { return each.name == "relay_rss_mb"; });
  return median(found->values);
}

Figure measure(Stage& stage, unsigned lanes, bool listen) {
  const auto name = "idle." + std::to_string(lanes) + (listen ? "" : ".poll");
  stage.report(name);
  auto figure = stage.figure(
      name, std::string("lanes with nothing to do, ") + (listen ? "LISTEN" : "polling only"));
  figure.settings.emplace_back("lanes", std::to_string(lanes));
  auto spec = stage.spec(stage.settings().orders.front());
  spec.lanes = lanes;
  spec.listen = listen;
  const auto relay = stage.start(spec);
  relay->await_idle();
  const auto& settings = stage.settings();
  const auto window = std::chrono::milliseconds(2'000 * settings.seconds.value_or(seconds_default) /
                                                settings.repeats);
  pass(stage, window);  // polls have slowed down by then
  const auto first = sample(stage, *relay);
  auto last = first;
  for (unsigned repeat = 0; repeat < settings.repeats; ++repeat) {
    const auto from = last;
    pass(stage, window);
    last = sample(stage, *relay);
    note_cpu(from, last, lanes, figure);
    figure.note("relay_rss_mb", resident_mb(relay->pid()));
  }
  if (!settings.server_log.empty()) {  // over the whole time: some come once a minute
    figure.note(
        "statements_per_s_per_lane",
        static_cast<double>(last.statements - first.statements) / lane_seconds(first, last, lanes));
  }
  return figure;
}

}  // namespace

void measure_idle(Stage& stage, Report& report) {
  if (stage.settings().server_log.empty()) {
    report.left_out.emplace_back(
        "statements a second: counted in the log of a private server only (leave --database out)");
  } else {
    stage.control().run(fill(sql::bench::log_statements, {{"name", stage.database()}}));
  }
  stage.create_events(rows_behind);
  stage.append(rows_behind);
  stage.settle();
  report.figures.push_back(measure(stage, 1, true));
  report.figures.push_back(measure(stage, 1, false));
  report.figures.push_back(measure(stage, many_lanes, true));
  const auto one = median_rss(report.figures.front());
  auto& many = report.figures.back();
  many.note("rss_mb_per_further_lane", (median_rss(many) - one) / (many_lanes - 1));
}

}  // namespace seriatim::bench

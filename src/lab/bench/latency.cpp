#include <algorithm>
#include <thread>

#include "lab/bench/clock.hpp"
#include "lab/bench/measures.hpp"
#include "lab/bench/raw_listen.hpp"
#include "lab/bench/waits.hpp"
#include "seriatim/error.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

constexpr unsigned batch_rows = 100;
constexpr unsigned seconds_default = 1;
constexpr unsigned long_writers = 4;
constexpr std::chrono::milliseconds check_interval{20};
constexpr std::chrono::minutes patience{2};

/// Of a turn, where it is long enough.
constexpr std::chrono::milliseconds first_moments{300};

struct Case {
  std::string name;
  std::string what;
  OrderBy order;
  unsigned rows_per_s;
  bool listen = true;
  unsigned long_writers = 0;
  unsigned insert_latency_ms = 5;
  bool delivers_late = false;
};

std::vector<Case> cases_of(OrderBy order) {
  const std::string by = "latency." + std::string(to_text(order));
  std::vector<Case> cases{{by + ".100", "commit to call, LISTEN", order, 100},
                          {by + ".1000", "commit to call, LISTEN", order, 1'000},
                          {by + ".poll", "commit to call, polling only", order, 100, false}};
  const Case long_case{
      by + ".long", "commit to call, LISTEN, while transactions are held open 50 to 500 ms",
      order,        100,
      true,         long_writers};
  cases.push_back(long_case);
  if (order == OrderBy::id) return cases;
  for (auto asked : {cases[0], cases[1], long_case}) {
    asked.name.insert(by.size(), "_0ms");
    asked.what += ", insert_latency 0";
    asked.insert_latency_ms = 0;
    cases.push_back(asked);
  }
  for (auto asked : {cases[0], cases[1]}) {
    asked.name.insert(by.size(), "_deliver");
    asked.what += ", late_rows = deliver, insert_latency 0";
    asked.insert_latency_ms = 0;
    asked.delivers_late = true;
    cases.push_back(asked);
  }
  return cases;
}

void await_caught_up(Stage& stage, const std::string& process) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (stage.control().query(sql::bench::caught_up, {process}).at(0, 0) != "t") {
    stage.check_stop();
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error("the relay under test did not keep up with the producers");
    }
    std::this_thread::sleep_for(check_interval);
  }
}

Figure figure_of(Stage& stage, const Case& asked) {
  auto figure = stage.figure(asked.name, asked.what);
  figure.settings.front().second = std::to_string(batch_rows);
  figure.settings.emplace_back("commit_every", std::to_string(batch_rows));
  figure.settings.emplace_back("inserts_per_s", std::to_string(asked.rows_per_s));
  figure.settings.emplace_back("listen", asked.listen ? "true" : "false");
  figure.settings.emplace_back("long_writers", std::to_string(asked.long_writers));
  if (asked.order == OrderBy::created_at) {
    figure.settings.emplace_back("insert_latency_ms", std::to_string(asked.insert_latency_ms));
    figure.settings.emplace_back("late_rows", asked.delivers_late ? "deliver" : "halt");
  }
  return figure;
}

/// One case: the relay, and where nothing else is waited for the limits, in turns.
class Turns {
 public:
  Turns(Stage& stage, const Case& asked)
      : stage_(stage),
        asked_(asked),
        spec_(stage.spec(asked.order)),
        turn_(std::chrono::milliseconds(
                  std::chrono::seconds(stage.settings().seconds.value_or(seconds_default))) /
              stage.settings().repeats),
        left_out_(std::min(first_moments, turn_ / 5)) {
    spec_.batch_rows = spec_.commit_every = batch_rows;
    spec_.listen = asked.listen;
    spec_.insert_latency_ms = asked.insert_latency_ms;
    spec_.delivers_late = asked.delivers_late;
    spec_.handler = "arrivals";
  }

  Figure measure() {
    auto figure = figure_of(stage_, asked_);
    for (unsigned repeat = 0; repeat < stage_.settings().repeats; ++repeat) {
      if (asked_.listen && asked_.long_writers == 0) {
        note_waits(bare(false), "bare_", figure);
        note_waits(bare(true), "bare_durable_", figure);
      }
      const auto waits = relayed();
      note_waits(waits, "", figure);
      if (asked_.long_writers > 0) note_excess(waits, figure);
      if (waits.empty()) continue;
      const auto took = waits.back().committed_ns - waits.front().committed_ns;
      figure.rates.push_back(per_second(waits.size() - 1, took));
    }
    return figure;
  }

 private:
  Written write() {
    stage_.check_stop();
    return write_events(stage_.url(), {asked_.rows_per_s, turn_, asked_.long_writers},
                        stage_.stop());
  }

  std::vector<Wait> bare(bool durable) {
    RawListener listener(stage_, asked_.order, durable);
    const auto written = write();
    std::this_thread::sleep_for(
        check_interval);  // the last rows; what is later still is not counted
    return waits_of(written, listener.finish(), left_out_);
  }

  std::vector<Wait> relayed() {
    const auto relay = stage_.start(spec_);
    relay->await_idle();
    const auto written = write();
    await_caught_up(stage_, spec_.process);
    return waits_of(written, relay->finish(), left_out_);
  }

  Stage& stage_;
  const Case& asked_;
  RelaySpec spec_;
  std::chrono::milliseconds turn_;
  std::chrono::milliseconds left_out_;
};

}  // namespace

void measure_latency(Stage& stage, Report& report) {
  stage.create_events(1);
  for (const auto order : stage.settings().orders) {
    for (const auto& asked : cases_of(order)) {
      stage.report(asked.name + ": " + asked.what);
      report.figures.push_back(Turns(stage, asked).measure());
    }
  }
}

}  // namespace seriatim::bench

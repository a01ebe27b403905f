#include <thread>

#include "bench/measures.hpp"
#include "bench/waits.hpp"
#include "seriatim/error.hpp"
#include "seriatim_sql.hpp"

namespace seriatim::bench {

namespace {

constexpr unsigned batch_rows = 100;
constexpr unsigned long_writers = 4;
constexpr std::chrono::milliseconds look_interval{20};
constexpr std::chrono::minutes patience{2};

struct Case {
  std::string name;
  std::string what;
  OrderBy order;
  unsigned rows_per_s;
  bool listen;
  unsigned long_writers;
};

std::vector<Case> cases_of(OrderBy order) {
  const std::string by = to_text(order);
  return {{"latency." + by + ".100", "commit to call, LISTEN", order, 100, true, 0},
          {"latency." + by + ".1000", "commit to call, LISTEN", order, 1'000, true, 0},
          {"latency." + by + ".poll", "commit to call, polling only", order, 100, false, 0},
          {"latency." + by + ".long",
           "commit to call, LISTEN, beside transactions held open 50 to 500 ms", order, 100, true,
           long_writers}};
}

void await_caught_up(Stage& stage, const std::string& process) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (stage.control().query(sql::bench_caught_up, {process}).at(0, 0) != "t") {
    stage.check_stop();
    if (std::chrono::steady_clock::now() > deadline) {
      throw Error("the relay under test did not keep up with the producers");
    }
    std::this_thread::sleep_for(look_interval);
  }
}

Figure measure(Stage& stage, const Case& asked) {
  stage.tell(asked.name + ": " + asked.what);
  auto figure = stage.figure(asked.name, asked.what);
  figure.settings.front().second = std::to_string(batch_rows);
  figure.settings.emplace_back("commit_every", std::to_string(batch_rows));
  figure.settings.emplace_back("inserts_per_s", std::to_string(asked.rows_per_s));
  figure.settings.emplace_back("listen", asked.listen ? "true" : "false");
  figure.settings.emplace_back("long_writers", std::to_string(asked.long_writers));
  auto spec = stage.spec(asked.order);
  spec.batch_rows = spec.commit_every = batch_rows;
  spec.listen = asked.listen;
  spec.handler = "arrivals";
  const auto relay = stage.start(spec);
  relay->await_idle();
  const Writing writing{asked.rows_per_s, std::chrono::seconds(stage.settings().seconds),
                        asked.long_writers};
  const auto written = write_events(stage.url(), writing, stage.stop());
  await_caught_up(stage, spec.process);
  note_waits(waits_of(written, relay->finish()), stage.settings().repeats, asked.long_writers > 0,
             figure);
  return figure;
}

}  // namespace

void measure_latency(Stage& stage, Report& report) {
  stage.create_events(1);
  for (const auto order : stage.settings().orders) {
    for (const auto& asked : cases_of(order)) report.figures.push_back(measure(stage, asked));
  }
}

}  // namespace seriatim::bench

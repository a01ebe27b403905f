#include "lab/bench/bench.hpp"

#include "lab/bench/measures.hpp"
#include "seriatim/error.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

using Measure = void (*)(Stage&, Report&);

const std::vector<std::pair<std::string, Measure>>& benches() {
  static const std::vector<std::pair<std::string, Measure>> all{
      {"null", measure_null},   {"http", measure_http},
#ifdef SERIATIM_BENCH_KAFKA
      {"kafka", measure_kafka},
#endif
      {"sql", measure_sql},     {"latency", measure_latency}, {"idle", measure_idle}};
  return all;
}

Measure bench_named(const std::string& name) {
  for (const auto& [known, bench] : benches()) {
    if (known == name) return bench;
  }
  throw Error("no bench is called " + name);
}

}  // namespace

const std::vector<std::string>& names() {
  static const auto all = [] {
    std::vector<std::string> found;
    for (const auto& [name, bench] : benches()) found.push_back(name);
    return found;
  }();
  return all;
}

Report measure(const Settings& settings, const Progress& progress, const std::stop_token& stop) {
  const auto bench = bench_named(settings.name);
  Report report;
  report.bench = settings.name;
  try {
    Stage stage(settings, progress, stop);
    report.server = stage.control().query(sql::bench::server_version).text(0, 0);
    bench(stage, report);
  } catch (const Interrupted&) {
    report.interrupted = true;
  }
  return report;
}

}  // namespace seriatim::bench

#include "lab/bench/clock.hpp"
#include "lab/bench/measures.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

constexpr std::uint64_t rows_default = 50'000;

/// The plainest way to fill a read model: ids have no holes here.
double raw_insert(Stage& stage, std::uint64_t rows) {
  Database database(stage.url());
  database.prepare("insert", sql::bench::insert_select);
  const std::uint64_t batch = stage.settings().batch_rows;
  const auto began = now_ns();
  for (std::uint64_t id = 0; id < rows; id += batch) {
    stage.check_stop();
    (void)database.execute("insert",
                           {std::to_string(id), std::to_string(std::min(rows, id + batch))});
  }
  return per_second(rows, now_ns() - began);
}

}  // namespace

void measure_sql(Stage& stage, Report& report) {
  const auto rows = stage.settings().rows.value_or(rows_default);
  stage.create_events(rows);
  stage.append(rows);
  stage.settle();
  const std::string what = "read model in the same database, a whole batch a statement";
  stage.report(what);
  auto figure = stage.figure("sql.batch", what);
  figure.limit = "INSERT … SELECT through libpq, same batches, a durable commit each";
  figure.settings.emplace_back("rows", std::to_string(rows));
  for (unsigned repeat = 0; repeat < stage.settings().repeats; ++repeat) {
    stage.control().run(sql::bench::empty_models);
    figure.limits.push_back(raw_insert(stage, rows));
    auto spec = stage.spec(stage.settings().orders.front());
    spec.handler = "sql";
    spec.options = {{"statement", std::string(sql::bench::projection)}};
    drain(stage, spec, rows, figure);
  }
  report.figures.push_back(std::move(figure));
}

}  // namespace seriatim::bench

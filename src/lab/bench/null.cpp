#include "lab/bench/clock.hpp"
#include "lab/bench/measures.hpp"
#include "lab/bench/raw_fetch.hpp"
#include "sql/bench.hpp"
#include "sql/reader.hpp"

namespace seriatim::bench {

namespace {

constexpr std::uint64_t rows_default = 200'000;
constexpr int fence_reads = 300;

class Null {
 public:
  Null(Stage& stage, std::uint64_t rows) : stage_(stage), rows_(rows) {
    stage_.control().prepare("fence", sql::reader::lock_holders);
  }

  /// Each repeat begins a process of its own at the table's start.
  Figure from_start(OrderBy order) {
    auto figure = begin(order);
    for (unsigned repeat = 0; repeat < stage_.settings().repeats; ++repeat) {
      note_fence_read(figure);
      figure.limits.push_back(raw_fetch(stage_, order, 0, rows_));
      drain(stage_, stage_.spec(order), rows_, figure);
    }
    return figure;
  }

  /// One process goes on, what it delivered behind it.
  Figure going_on(OrderBy order) {
    auto figure = begin(order);
    const auto spec = stage_.spec(order);
    const auto before = stage_.settings().delivered;
    stage_.report("delivering " + std::to_string(before) + " rows beforehand");
    Figure unmeasured;
    drain(stage_, spec, before, unmeasured);
    for (unsigned repeat = 0; repeat < stage_.settings().repeats; ++repeat) {
      stage_.append(rows_);
      stage_.settle();
      note_fence_read(figure);
      figure.limits.push_back(raw_fetch(stage_, order, before + repeat * rows_, rows_));
      drain(stage_, spec, rows_, figure);
    }
    return figure;
  }

 private:
  /// The statement every poll asks who may still insert by, prepared as there; the median of some.
  void note_fence_read(Figure& figure) {
    const auto oid = stage_.control().query(sql::bench::table_oid).text(0, 0);
    std::vector<double> took_us;
    for (int i = 0; i < fence_reads; ++i) {
      const auto began = now_ns();
      (void)stage_.control().execute("fence", {"public.events", oid});
      took_us.push_back(static_cast<double>(now_ns() - began) * 1e-3);
    }
    figure.note("fence_read_us", median(took_us));
  }

  Figure begin(OrderBy order) {
    stage_.report(std::string("null handler, by ") + to_text(order));
    auto figure =
        stage_.figure(std::string("null.") + to_text(order),
                      std::string("drain into a handler that does nothing, by ") + to_text(order));
    figure.limit = "keyset loop through libpq, same batches";
    figure.settings.emplace_back("rows", std::to_string(rows_));
    return figure;
  }

  Stage& stage_;
  std::uint64_t rows_;
};

}  // namespace

void measure_null(Stage& stage, Report& report) {
  const auto& settings = stage.settings();
  const auto rows = settings.rows.value_or(rows_default);
  const bool goes_on = settings.delivered > 0;
  stage.create_events(goes_on ? settings.delivered + settings.repeats * rows
                              : rows + settings.waiting);
  stage.append(goes_on ? settings.delivered : rows + settings.waiting);
  stage.settle();
  Null null(stage, rows);
  if (goes_on) {
    report.figures.push_back(null.going_on(settings.orders.front()));
    return;
  }
  for (const auto order : settings.orders) report.figures.push_back(null.from_start(order));
}

}  // namespace seriatim::bench

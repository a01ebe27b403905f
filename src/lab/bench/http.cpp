#include "lab/bench/clock.hpp"
#include "lab/bench/measures.hpp"
#include "lab/bench/raw_http.hpp"
#include "lab/http/http_service.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

constexpr std::uint64_t rows_default = 4'000;
constexpr unsigned batch_rows = 100;
constexpr std::uint64_t many = 4;  ///< times the rows, where a commit is paid once a batch

/// One updated row, committed durably, one after another.
double raw_commits(Stage& stage, std::uint64_t commits) {
  Database database(stage.url());
  database.prepare("tick", sql::bench::tick);
  const auto began = now_ns();
  for (std::uint64_t i = 0; i < commits; ++i) {
    stage.check_stop();
    (void)database.execute("tick", {});
  }
  return per_second(commits, now_ns() - began);
}

class Http {
 public:
  explicit Http(Stage& stage) : stage_(stage) {}

  Figure durable(std::uint64_t rows) {
    auto figure = begin("http.durable", "a POST a row, a durable commit a row", 1, rows);
    figure.limit = "1 / (round trip of a bare POST + a durable commit of one row)";
    for (unsigned repeat = 0; repeat < stage_.settings().repeats; ++repeat) {
      const auto posts = raw_http(receiver_.port(), rows);
      const auto commits = raw_commits(stage_, rows);
      figure.limits.push_back(1 / (1 / posts + 1 / commits));
      figure.note("raw_posts_per_s", posts);
      figure.note("raw_commits_per_s", commits);
      drain(stage_, spec(1), rows, figure);
    }
    return figure;
  }

  Figure batched(std::uint64_t rows) {
    auto figure =
        begin("http.batched", "a POST a row, a durable commit a hundred rows", batch_rows, rows);
    figure.limit = "bare POSTs one after another";
    for (unsigned repeat = 0; repeat < stage_.settings().repeats; ++repeat) {
      figure.limits.push_back(raw_http(receiver_.port(), rows));
      drain(stage_, spec(batch_rows), rows, figure);
    }
    return figure;
  }

 private:
  Figure begin(const std::string& name, const std::string& what, unsigned commit_every,
               std::uint64_t rows) {
    stage_.report(what);
    auto figure = stage_.figure(name, what);
    figure.settings.front().second = std::to_string(batch_rows);
    figure.settings.emplace_back("commit_every", std::to_string(commit_every));
    figure.settings.emplace_back("rows", std::to_string(rows));
    figure.settings.emplace_back("order_by", to_text(stage_.settings().orders.front()));
    return figure;
  }

  RelaySpec spec(unsigned commit_every) {
    auto spec = stage_.spec(stage_.settings().orders.front());
    spec.batch_rows = batch_rows;
    spec.commit_every = commit_every;
    spec.read_ahead = spec.read_ahead && commit_every > 1;
    spec.handler = "http";
    spec.options = {{"url", receiver_.url()}, {"allow_private", true}};
    return spec;
  }

  Stage& stage_;
  lab::HttpService receiver_{{.record = false}};  ///< 200 to everything
};

}  // namespace

void measure_http(Stage& stage, Report& report) {
  const auto rows = stage.settings().rows.value_or(rows_default);
  stage.create_events(rows * many);
  stage.append(rows * many);
  stage.settle();
  Http http(stage);
  report.figures.push_back(http.durable(rows));
  report.figures.push_back(http.batched(rows * many));
}

}  // namespace seriatim::bench

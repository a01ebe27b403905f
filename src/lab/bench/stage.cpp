#include "lab/bench/stage.hpp"

#include <unistd.h>

#include <algorithm>

#include "lab/bench/clock.hpp"
#include "lab/bench/processes.hpp"
#include "seriatim/error.hpp"
#include "seriatim/postgres.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

constexpr std::uint64_t rows_per_insert = 500'000;

void create_database(const std::string& url, const std::string& name) {
  Database server(url);
  try {
    server.run(fill(sql::bench::create_database, {{"name", name}}));
  } catch (const Error& refused) {
    throw Error(std::string(refused.what()) +
                "; bench works in a database of its own: let the role make one (ALTER ROLE … "
                "CREATEDB), or leave --database out for a private server");
  }
}

}  // namespace

Stage::Stage(const Settings& settings, const Progress& progress, std::stop_token stop)
    : settings_(settings),
      progress_(progress),
      stop_(std::move(stop)),
      name_("seriatim_bench_" + std::to_string(::getpid()) + '_' + std::to_string(now_ns())) {
  create_database(settings.url, name_);
  url_ = with_database(settings.url, name_);
  try {
    install_schema(url_);
    control_ = std::make_unique<Database>(url_);
    max_connections_ = control_->query(sql::bench::max_connections).text(0, 0);
    for (unsigned i = 0; i < settings.connections; ++i) {
      idle_.push_back(std::make_unique<Database>(url_, "idle"));
    }
  } catch (...) {
    idle_.clear();
    control_.reset();
    Database(settings.url).run(fill(sql::bench::drop_database, {{"name", name_}}));
    throw;
  }
}

Stage::~Stage() {
  try {
    idle_.clear();
    control_.reset();
    Database(settings_.url).run(fill(sql::bench::drop_database, {{"name", name_}}));
  } catch (const std::exception& failed) {
    progress_("database " + name_ + " is left behind: " + failed.what());
  }
}

void Stage::check_stop() const {
  if (stop_.stop_requested()) throw Interrupted{};
}

void Stage::create_events(std::uint64_t rows) {
  const bool parts = settings_.partitions > 1;
  control_->run(
      fill(sql::bench::create_events, {{"storage", parts ? "PARTITION BY RANGE (id)" : ""}}));
  if (parts) create_partitions(rows);
}

void Stage::create_partitions(std::uint64_t rows) {
  const auto each = std::max<std::uint64_t>(1, rows / settings_.partitions);
  for (unsigned i = 0; i < settings_.partitions; ++i) {
    const bool last = i + 1 == settings_.partitions;
    control_->run(fill(sql::bench::create_partition,
                       {{"number", std::to_string(i)},
                        {"from", i == 0 ? "MINVALUE" : std::to_string(i * each + 1)},
                        {"to", last ? "MAXVALUE" : std::to_string((i + 1) * each + 1)}}));
  }
}

void Stage::append(std::uint64_t rows) {
  if (rows >= rows_per_insert) report("writing " + std::to_string(rows) + " rows");
  while (rows > 0) {
    check_stop();
    const auto now = std::min(rows, rows_per_insert);
    (void)control_->query(sql::bench::append_rows, {std::to_string(now)});
    rows -= now;
  }
}

void Stage::settle() {
  check_stop();
  control_->run(sql::bench::settle);
  try {
    control_->run(sql::bench::checkpoint);
  } catch (const Error&) {  // not this role's right, and not needed
  }
}

RelaySpec Stage::spec(OrderBy order) {
  RelaySpec spec;
  spec.url = url_;
  spec.process = "bench_" + std::to_string(++processes_);
  spec.order = order;
  spec.batch_rows = settings_.batch_rows;
  spec.commit_every = settings_.batch_rows;
  spec.read_ahead = settings_.read_ahead;
  return spec;
}

std::unique_ptr<RelayChild> Stage::start(const RelaySpec& spec) const {
  return std::make_unique<RelayChild>(settings_.program, spec, stop_);
}

double Stage::backend_cpu() {
  const auto pids = control_->query(sql::bench::backends);
  double total = 0;
  for (int row = 0; row < pids.rows(); ++row) {
    total += cpu_seconds(static_cast<pid_t>(pids.number(row, 0)));
  }
  return total;
}

Figure Stage::figure(const std::string& name, const std::string& what) const {
  Figure figure;
  figure.name = name;
  figure.what = what;
  figure.settings = {{"batch_rows", std::to_string(settings_.batch_rows)},
                     {"read_ahead", settings_.read_ahead ? "true" : "false"},
                     {"partitions", std::to_string(settings_.partitions)},
                     {"idle_connections", std::to_string(settings_.connections)},
                     {"max_connections", max_connections_},
                     {"rows_waiting", std::to_string(settings_.waiting)},
                     {"rows_delivered_before", std::to_string(settings_.delivered)}};
  return figure;
}

}  // namespace seriatim::bench

#include "lab/bench/raw_listen.hpp"

#include "lab/bench/clock.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

constexpr const char* batch_rows = "100";
constexpr std::chrono::milliseconds check_interval{50};  ///< whether it is over

}  // namespace

RawListener::RawListener(Stage& stage, OrderBy order, bool durable)
    : database_(stage.url()), order_(order), durable_(durable) {
  database_.run(sql::bench::listen);
  database_.prepare(
      "fetch", order == OrderBy::id ? sql::bench::fetch_by_id : sql::bench::fetch_by_created_at);
  database_.prepare("commit", sql::bench::tick);
  const auto last = database_.query(sql::bench::last_event);
  id_ = last.text(0, 0);
  stamp_ = last.text(0, 1);
  thread_ = std::thread([this] {
    try {
      listen();
    } catch (...) {
      failed_ = std::current_exception();
    }
  });
}

RawListener::~RawListener() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
}

Result RawListener::fetch() {
  return order_ == OrderBy::id ? database_.execute("fetch", {id_, batch_rows})
                               : database_.execute("fetch", {stamp_, id_, batch_rows});
}

void RawListener::listen() {
  while (!over_) {
    const auto rows = fetch();
    if (rows.rows() == 0) {
      (void)database_.await_notification(check_interval);
      continue;
    }
    if (durable_) (void)database_.execute("commit", {});
    const auto now = now_ns();
    for (int row = 0; row < rows.rows(); ++row) arrivals_.emplace(rows.number(row, 0), now);
    id_ = rows.text(rows.rows() - 1, 0);
    stamp_ = rows.text(rows.rows() - 1, 1);
  }
}

std::map<std::int64_t, std::int64_t> RawListener::finish() {
  over_ = true;
  thread_.join();
  if (failed_) std::rethrow_exception(failed_);
  return std::move(arrivals_);
}

}  // namespace seriatim::bench

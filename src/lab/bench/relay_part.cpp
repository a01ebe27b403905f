// The relay under test, in a process of its own so that its processor time and memory are its own.
#include <time.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "lab/bench/bench.hpp"
#include "lab/bench/clock.hpp"
#include "lab/bench/relay_spec.hpp"
#include "seriatim/handler.hpp"
#include "seriatim/handlers.hpp"
#include "seriatim/postgres.hpp"
#include "seriatim/relay.hpp"

namespace seriatim::bench {

namespace {

using boost::json::object;

void report(const object& said) {
  static std::mutex mutex;
  const std::scoped_lock guard(mutex);
  std::cout << boost::json::serialize(said) << std::endl;
}

/// Reports when every lane has become idle, when all rows are delivered, and what went wrong. Then
/// it holds the lanes: nothing more is to be done until what they cost has been read.
class Watch final : public Observer {
 public:
  Watch(std::uint64_t rows, unsigned lanes) : rows_(rows), lanes_(lanes) {}

  void lane_changed(const LaneStatus& status) override {
    const std::scoped_lock guard(mutex_);
    if (status.state == LaneState::halted || status.state == LaneState::retrying) {
      report({{"error", std::string(to_string(status.state)) + ": " + status.detail}});
    }
    if (status.state != LaneState::idle || idle_.size() == lanes_) return;
    idle_.insert(status.lane);
    if (idle_.size() == lanes_) report({{"idle", true}});
  }

  void delivered(const LaneStatus&, std::size_t rows) override {
    const std::scoped_lock guard(mutex_);
    const auto now = now_ns();
    if (total_ == 0) {
      first_ns_ = now;
      first_rows_ = rows;
    }
    const auto before = std::exchange(total_, total_ + rows);
    if (rows_ == 0 || before >= rows_ || total_ < rows_) return;
    // The first commit only starts the clock: opening and claiming are no part of the rate.
    report(
        {{"delivered", total_}, {"counted", total_ - first_rows_}, {"took_ns", now - first_ns_}});
    let_go_.wait();
  }

  void let_go() { let_go_.count_down(); }

 private:
  std::mutex mutex_;
  std::latch let_go_{1};
  std::uint64_t rows_;
  unsigned lanes_;
  std::set<unsigned> idle_;
  std::uint64_t total_ = 0;
  std::uint64_t first_rows_ = 0;
  std::int64_t first_ns_ = 0;
};

class NullHandler final : public Handler {
 public:
  BatchOutcome handle(std::span<const Record> batch, const CallContext&) override {
    return {batch.size(), std::nullopt};
  }
};

struct Arrivals {
  std::mutex mutex;
  std::vector<std::pair<std::string, std::int64_t>> all;
};

HandlerFactory noting(const std::shared_ptr<Arrivals>& arrivals) {
  return handler_from([arrivals](const Record& record) {
    const auto now = now_ns();
    const std::scoped_lock guard(arrivals->mutex);
    arrivals->all.emplace_back(record.id(), now);
    return Outcome::done();
  });
}

HandlerFactory of_kind(const RelaySpec& spec) {
  HandlerRegistry registry;
  handlers::register_all(registry);
  seriatim::Settings settings;
  for (const auto& [key, option] : spec.options) {
    std::visit([&, name = key](const auto& value) { settings.set(name, value); }, option);
  }
  return registry.make(spec.handler, settings);
}

void add_to(Relay& relay, const RelaySpec& spec, const HandlerFactory& handler) {
  ProcessConfig process;
  process.name = spec.process;
  process.lanes = spec.lanes;
  process.batch_rows = spec.batch_rows;
  process.commit_every = spec.commit_every;
  process.read_ahead = spec.read_ahead;
  SourceConfig source;
  source.table = "public.events";
  source.order_by = spec.order;
  source.key = "key";
  source.listen = spec.listen;
  source.insert_latency = std::chrono::milliseconds(spec.insert_latency_ms);
  if (spec.delivers_late) source.late_rows = OnLateRow::deliver;
  relay.add(process, postgres_source(spec.url, source), handler);
}

void deliver(const RelaySpec& spec) {
  const auto arrivals = std::make_shared<Arrivals>();
  Relay relay;
  const auto watch = std::make_shared<Watch>(spec.rows, spec.lanes);
  relay.observe(watch);
  add_to(relay, spec,
         spec.handler == "null"       ? [](unsigned) { return std::make_unique<NullHandler>(); }
         : spec.handler == "arrivals" ? noting(arrivals)
                                      : of_kind(spec));
  std::stop_source stop;
  std::thread running([&] { (void)relay.run(stop.get_token()); });
  for (std::string line; std::getline(std::cin, line);) {
  }
  stop.request_stop();
  watch->let_go();
  running.join();
  boost::json::array listed;
  for (const auto& [id, at] : arrivals->all) listed.push_back(boost::json::array{id, at});
  report({{"arrivals", std::move(listed)}});
}

}  // namespace

int relay_part() {
  try {
    std::string line;
    std::getline(std::cin, line);
    deliver(spec_from(line));
    return 0;
  } catch (const std::exception& failed) {
    report({{"error", failed.what()}});
    return 1;
  }
}

}  // namespace seriatim::bench

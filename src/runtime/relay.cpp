#include "seriatim/relay.hpp"

#include <unistd.h>

#include <random>
#include <string_view>
#include <thread>

#include "runtime/assignment_driver.hpp"
#include "runtime/audit_driver.hpp"
#include "runtime/known_types.hpp"
#include "runtime/lane_driver.hpp"

namespace seriatim {

namespace {

/// "host:pid:random": shows a person where it runs, and no two runs share it.
std::string make_holder() {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  std::random_device chance;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string suffix;
  for (int i = 0; i < 12; ++i) suffix += digits[chance() % digits.size()];
  return std::string(host) + ':' + std::to_string(::getpid()) + ':' + suffix;
}

/// Every relation between values that types cannot carry.
std::string problems_of(const ProcessConfig& c) {
  std::string text;
  const auto demand = [&](bool holds, const char* what) {
    if (!holds) text += (text.empty() ? "" : "\n") + ("process \"" + c.name + "\": ") + what;
  };
  demand(!c.name.empty() && c.name.size() <= 63, "name must have 1 to 63 bytes");
  demand(c.lanes >= 1 && c.lanes <= 1024, "lanes must be 1 to 1024");
  demand(c.batch_rows >= 1 && c.batch_rows <= 100'000, "batch_rows must be 1 to 100000");
  demand(c.commit_every >= 1, "commit_every must be at least 1");
  demand(c.in_flight >= 1 && c.in_flight <= 1024, "in_flight must be 1 to 1024");
  demand(c.in_flight == 1 || c.window_rows >= c.in_flight + c.commit_every,
         "window_rows must be at least in_flight and commit_every together");
  demand(c.window_rows >= 2 && c.window_rows <= 65'536, "window_rows must be 2 to 65536");
  demand(c.commit_every <= c.batch_rows, "commit_every must not exceed batch_rows");
  demand(c.handler_deadline.count() > 0, "handler_deadline must be positive");
  demand(c.max_hold.count() > 0, "max_hold must be positive");
  demand(c.poll_interval_min.count() > 0, "poll_interval_min must be positive");
  demand(c.poll_interval_min <= c.poll_interval_max,
         "poll_interval_min must not exceed poll_interval_max");
  demand(c.lease >= std::chrono::milliseconds{1'000}, "lease must be at least 1s");
  demand(c.standby_interval.count() > 0, "standby_interval must be positive");
  demand(c.backoff.first.count() > 0 && c.backoff.first <= c.backoff.max,
         "backoff.first must be positive and not exceed backoff.max");
  return text;
}

using MakeCalls = std::function<std::unique_ptr<runtime::Calls>(runtime::CallNeeds)>;

/// What calls the rows of one lane.
struct LaneHandler {
  std::unique_ptr<Handler> one;  ///< one row after another
  MakeCalls calls;               ///< several in flight; empty: none
};
using MakeLaneHandler = std::function<LaneHandler(unsigned lane)>;

/// Several calls in flight have a handler each.
LaneHandler handlers_for(unsigned lane, unsigned in_flight, const HandlerFactory& make) {
  LaneHandler made{make(lane), {}};
  if (in_flight == 1) return made;
  auto handlers = std::make_shared<std::vector<std::unique_ptr<Handler>>>();
  for (unsigned i = 0; i < in_flight; ++i) handlers->push_back(make(lane));
  made.calls = [handlers](runtime::CallNeeds needs) {
    auto thread = handlers->front()->make_call_thread();
    return thread ? runtime::calls_in_one_thread(std::move(*handlers), std::move(thread),
                                                 std::move(needs))
                  : runtime::threaded_calls(std::move(*handlers), std::move(needs));
  };
  return made;
}

LaneHandler async_handler_for(unsigned lane, unsigned in_flight, const AsyncHandlerFactory& make) {
  const std::shared_ptr<AsyncHandler> handler = make(lane);
  LaneHandler made{runtime::waiting_for(handler), {}};
  if (in_flight == 1) return made;
  made.calls = [handler, in_flight](runtime::CallNeeds needs) {
    return runtime::async_calls(handler, in_flight, std::move(needs));
  };
  return made;
}

/// Fans out to every observer added.
class Observers final : public Observer {
 public:
  void add(std::shared_ptr<Observer> one) { all_.push_back(std::move(one)); }
  void lane_changed(const LaneStatus& status) override {
    for (auto& one : all_) one->lane_changed(status);
  }
  void delivered(const LaneStatus& status, std::size_t rows) override {
    for (auto& one : all_) one->delivered(status, rows);
  }
  void parked(const LaneStatus& status, const std::string& row_id,
              const std::string& detail) override {
    for (auto& one : all_) one->parked(status, row_id, detail);
  }
  void called(const LaneStatus& status, Outcome::Kind kind,
              std::chrono::nanoseconds took) override {
    for (auto& one : all_) one->called(status, kind, took);
  }
  void audit_failed(const std::string& process, const std::string& why) override {
    for (auto& one : all_) one->audit_failed(process, why);
  }

 private:
  std::vector<std::shared_ptr<Observer>> all_;
};

}  // namespace

struct Relay::Impl {
  Options options;
  std::string holder = make_holder();
  std::shared_ptr<Observers> observers = std::make_shared<Observers>();
  std::vector<std::unique_ptr<runtime::LaneDriver>> lanes;
  std::vector<std::unique_ptr<runtime::AssignmentDriver>> shares;
  std::vector<std::unique_ptr<runtime::AuditDriver>> audits;

  void add(const ProcessConfig& process, const std::shared_ptr<Source>& source,
           const MakeLaneHandler& handler);
};

Relay::Relay() : Relay(Options{}) {}

Relay::Relay(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
}

Relay::~Relay() = default;

void Relay::Impl::add(const ProcessConfig& process, const std::shared_ptr<Source>& source,
                      const MakeLaneHandler& handler) {
  if (const auto problems = problems_of(process); !problems.empty()) throw ConfigError(problems);
  std::shared_ptr<runtime::DrainAudit> drain_audit;
  if (options.drain) {
    drain_audit = std::make_shared<runtime::DrainAudit>(
        runtime::DrainAudit::Parts{process, holder, source, observers});
  }
  std::vector<runtime::LaneDriver*> added;
  for (unsigned lane = 0; lane < process.lanes; ++lane) {
    auto [one, calls] = handler(lane);
    lanes.push_back(std::make_unique<runtime::LaneDriver>(
        runtime::LaneDriver::Parts{process, lane, drain_audit, holder, source, std::move(one),
                                   observers, nullptr, std::move(calls)}));
    added.push_back(lanes.back().get());
  }
  audits.push_back(std::make_unique<runtime::AuditDriver>(
      runtime::AuditDriver::Parts{process, holder, source, observers, added}));
  if (process.lanes == 1 || options.drain) return;  // whoever drains waits for every lane
  shares.push_back(std::make_unique<runtime::AssignmentDriver>(
      runtime::AssignmentDriver::Parts{process, holder, source, std::move(added)}));
}

void Relay::add(const ProcessConfig& process, const std::shared_ptr<Source>& source,
                const HandlerFactory& handler) {
  const auto known = runtime::only_known_types(process.event_types, handler);
  impl_->add(process, source,
             [&](unsigned lane) { return handlers_for(lane, process.in_flight, known); });
}

void Relay::add(const ProcessConfig& process, const std::shared_ptr<Source>& source,
                const AsyncHandlerFactory& handler) {
  const auto known = runtime::only_known_types(process.event_types, handler);
  impl_->add(process, source,
             [&](unsigned lane) { return async_handler_for(lane, process.in_flight, known); });
}

void Relay::observe(std::shared_ptr<Observer> observer) {
  impl_->observers->add(std::move(observer));
}

const std::string& Relay::holder() const {
  return impl_->holder;
}

std::vector<LaneCounts> Relay::counts() const {
  std::vector<LaneCounts> counts;
  counts.reserve(impl_->lanes.size());
  for (const auto& lane : impl_->lanes) {
    counts.push_back(lane->counts());
    if (lane->wanted()) continue;
    for (const auto& share : impl_->shares) {
      if (share->process() == counts.back().process) counts.back().answered = share->seen();
    }
  }
  return counts;
}

std::vector<LaneStatus> Relay::run(std::stop_token stop) {
  const auto& [options, holder, observers, lanes, shares, audits] = *impl_;
  std::vector<LaneStatus> left(lanes.size());
  // Audits end with the lanes, whether a stop was asked or all is drained.
  std::stop_source audits_end;
  const auto end_audits = [&] {
    audits_end.request_stop();
    for (const auto& audit : audits) audit->wake();
  };
  const std::stop_callback wake_all(stop, [&] {
    for (const auto& lane : lanes) lane->wake();
    for (const auto& share : shares) share->wake();
    end_audits();
  });
  std::vector<std::jthread> auditors;
  for (const auto& audit : audits) {
    auditors.emplace_back([&] { audit->run(audits_end.get_token()); });
  }
  {
    std::vector<std::jthread> threads;
    threads.reserve(lanes.size() + shares.size());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      threads.emplace_back([&, i] { left[i] = lanes[i]->run(stop); });
    }
    for (const auto& share : shares) {
      threads.emplace_back([&stop, &share] { share->run(stop); });
    }
  }
  end_audits();
  return left;
}

}  // namespace seriatim

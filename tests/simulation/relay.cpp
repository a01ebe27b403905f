#include "simulation/relay.hpp"

#include <algorithm>
#include <utility>

#include "core/crash_point.hpp"
#include "core/mutant.hpp"
#include "simulation/relay_parts.hpp"

/// The simulated process dies while it waits, not here.
void seriatim::core::crash_point(std::string_view, std::string_view) {}

namespace seriatim::simulation {

// --- what the code takes from outside
// --------------------------------------------------------------

class Relay::Clock final : public runtime::TimeAndChance {
 public:
  explicit Clock(Relay& relay) : relay_(relay) {}
  Time now() override { return relay_.time(); }
  double chance() override { return relay_.stage_.random.unit(); }
  bool sleep_until(Time deadline, const Waker&) override { return relay_.wait_until(deadline); }

 private:
  Relay& relay_;
};

class Relay::Lanes final : public Source {
 public:
  explicit Lanes(Relay& relay) : relay_(relay) {}

  Lane open(const LaneId&, const ProcessConfig&, const std::string&, Waker&) override {
    relay_.pass(relay_.latency());
    auto backend = relay_.server_.connect(relay_.number_, relay_.name_, relay_.watch_);
    if (relay_.cut_off_) relay_.server_.end(backend, "no connection to be had");
    if (!backend || !backend->alive) throw SessionLost("no connection");
    relay_.backend_ = backend;
    auto store = std::make_unique<LaneStore>(relay_, backend);
    return {std::move(store), std::make_unique<TableReader>(relay_, std::move(backend))};
  }

 private:
  Relay& relay_;
};

/// The handler: row by row, until one fails, the batch ends or the lane wants to commit.
class Relay::Calls final : public Handler {
 public:
  explicit Calls(Relay& relay) : relay_(relay), stage_(relay.stage_) {}

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override {
    if (stage_.sabotaged(Sabotage::advance_before_delivery)) advance_early(batch);
    if (stage_.strikes(stage_.setup.partial / 10)) return {};
    const auto begun = stage_.now();
    std::optional<BatchOutcome> answer;
    for (std::size_t place = 0; place < batch.size(); ++place) {
      if (place > 0 && yields(context)) return answer.value_or(BatchOutcome{place, std::nullopt});
      auto taken = relay_.receiver_.take(relay_.number_, begun, place, batch[place]);
      if (stage_.strikes(stage_.setup.crash_in_call)) relay_.server_.crash_within(taken.takes);
      relay_.pass(taken.takes);
      const bool failed = taken.thrown || !taken.outcome.is_done();
      if (failed && !answer) answer = {taken.thrown ? 0 : place, std::move(taken.outcome)};
      if (!answer || stage_.sabotaged(Sabotage::failure_overtaken)) continue;
      if (taken.thrown) throw std::runtime_error("thrown on purpose");
      return *answer;
    }
    return answer.value_or(BatchOutcome{batch.size(), std::nullopt});
  }

 private:
  bool yields(const CallContext& context) {
    const bool late = relay_.time() >= context.yield_at && !core::mutant(core::Mutant::late_call);
    return context.stop.stop_requested() || late || context.is_lost() ||
           stage_.strikes(stage_.setup.partial);
  }
  /// Sabotage: the rows of the call are called done before they are.
  void advance_early(std::span<const Record> batch) {
    auto& cursors = relay_.server_.cursors();
    Settlement advance{.from = cursors.row().position, .done = {}, .queued = {}, .fate = Next{}};
    for (const auto& record : batch) advance.done.push_back(record.position);
    Backend by;
    by.relay = relay_.number_;
    cursors.settle(by, batch.front().epoch, advance, {});
  }

  Relay& relay_;
  Stage& stage_;
};

// --- the process ---------------------------------------------------------------------------------

Relay::Relay(Stage& stage, Server& server, Receiver& receiver, unsigned number)
    : stage_(stage), server_(server), receiver_(receiver), number_(number) {
  server_.on_notify([this] { hint(); });
}

Relay::~Relay() {
  dying_ = true;
  main_.reset();
}

void Relay::run(bool drain) {
  ++life_;
  name_ = "relay-" + std::to_string(number_) + "." + std::to_string(life_);
  waiting_ = hinted_ = cut_off_ = false;
  stop_ = {};
  if (!stage_.setup.fleet) wanted_ = true;
  frozen_until_ = 0;
  watch_ = std::make_shared<LeaseWatch>();
  remembered_.reset();
  known_epoch_ = 0;
  main_ = std::make_shared<Fiber>([this, drain] { live(drain); });
  go_on(main_);
}

/// What the process does, on its fiber.
void Relay::live(bool drain) {
  auto config = stage_.setup.config;
  if (stage_.setup.on_poison_changes && life_ % 4 > 1) {
    config.on_poison =
        config.on_poison == OnPoison::park_key ? OnPoison::dead_letter : OnPoison::park_key;
  }
  const auto source = std::make_shared<Lanes>(*this);
  std::shared_ptr<runtime::DrainAudit> audit;
  if (drain) {
    audit = std::make_shared<runtime::DrainAudit>(
        runtime::DrainAudit::Parts{config, name_, source, nullptr});
  }
  if (stage_.setup.in_flight_changes && life_ % 4 > 1) config.in_flight = 1;
  runtime::LaneDriver driver({config, 0, audit, name_, source, std::make_unique<Calls>(*this),
                              nullptr, std::make_shared<Clock>(*this), [this](auto needs) {
                                return std::make_unique<Flights>(*this, std::move(needs));
                              }});
  driver.want(wanted_);
  driver_ = &driver;
  left_as_ = driver.run(stop_.get_token()).state;
  driver_ = nullptr;
  stage_.trace(stage_.now(), name_.c_str(), [] { return std::string("has ended"); });
}

/// In its own time, until it waits.
void Relay::go_on(const std::weak_ptr<Fiber>& which) {
  const auto fiber = which.lock();
  if (!fiber || fiber->has_ended()) return;
  auto* const before = std::exchange(running_, fiber.get());
  fiber->resume();
  running_ = before;
  if (main_ && main_->has_ended()) end_process();
}

void Relay::stop() {
  stop_.request_stop();
  hint();
}

void Relay::want(bool wanted) {
  if (std::exchange(wanted_, wanted) == wanted) return;
  if (driver_ != nullptr) driver_->want(wanted);
  hint();
}

void Relay::kill(bool server_notices) {
  if (main_) die(server_notices);
}

void Relay::freeze(Micros time) {
  if (!main_) return;
  frozen_until_ = stage_.now() + time;
  stage_.fault(number_, "frozen");
}

void Relay::later(Micros delay, Step step) {
  stage_.scheduler.after(delay,
                         [this, life = life_, step = std::move(step)] { resume(life, step); });
}

void Relay::resume(unsigned life, const Step& step) {
  if (life != life_ || !main_) return;
  strike();
  if (life != life_) return;
  if (!is_frozen()) return step();
  stage_.scheduler.at(frozen_until_, [this, life, step] { resume(life, step); });
}

/// kill -9, a host that is gone, SIGSTOP and SIGTERM come between any two steps.
void Relay::strike() {
  const auto& setup = stage_.setup;
  if (stage_.strikes(setup.killed)) return die(true);
  if (stage_.strikes(setup.vanished)) return die(false);
  if (stage_.strikes(setup.stopped)) stop_.request_stop();
  if (stage_.strikes(setup.ended)) server_.end(backend_.lock(), "backend terminated");
  if (stage_.strikes(setup.act_at_step)) stage_.operator_act();
  if (stage_.strikes(setup.whims)) want(!wanted_);
  if (stage_.faults_over && !setup.fleet) want(true);
  if (is_frozen() || !stage_.strikes(setup.frozen)) return;
  frozen_until_ = stage_.now() + length_of_freeze() * millisecond;
  stage_.fault(number_, "frozen");
}

/// In milliseconds: for a moment, until about when another takes over a lane without a call, or one
/// with a call.
std::int64_t Relay::length_of_freeze() {
  const auto& config = stage_.setup.config;
  switch (stage_.one_of(3)) {
    case 0: return stage_.random.between(1, 300);
    case 1: return config.lease.count() + stage_.random.between(0, config.standby_interval.count());
    default: return core::Lane::call_lease(config).count() + stage_.random.between(100, 2'500);
  }
}

void Relay::die(bool server_notices) {
  stage_.fault(number_, server_notices ? "killed" : "host vanishes");
  if (server_notices) {
    stage_.scheduler.after(latency(), [this, backend = backend_.lock()] {
      server_.end(backend, "backend of a killed relay ends");
    });
  }
  end_process();
}

void Relay::end_process() {
  ++life_;
  dying_ = true;
  main_.reset();  // unwinds what was under way
  dying_ = false;
  driver_ = nullptr;
  waiting_ = false;
  stage_.scheduler.after(stage_.random.between(1, 2'000) * millisecond, [this] {
    if (restarting_ && !main_) run();
  });
}

// --- on the fiber --------------------------------------------------------------------------------

core::Time Relay::time() const {
  return core::Time(std::chrono::hours(1) + std::chrono::microseconds(stage_.now()));
}

Fiber& Relay::here() const {
  if (dying_) throw Fiber::Unwound{};
  return *running_;
}

void Relay::pass(Micros delay) {
  auto& fiber = here();
  later(delay, [this, weak = fiber.weak_from_this()] { go_on(weak); });
  fiber.wait();
}

/// Answered; or lost before the server saw it, after, or while the server is still busy with it.
void Relay::send(const BackendPtr& backend, std::function<void(Backend&)> run) {
  enum { answered, lost_before, lost_after, lost_meanwhile };
  auto& fiber = here();
  const auto weak = fiber.weak_from_this();
  count_action();
  const auto fate = stage_.strikes(stage_.setup.answer_lost) ? 1 + stage_.one_of(3) : 0;
  const bool early = fate == lost_meanwhile;
  if (early) {
    backend->given_up = true;
    later(stage_.random.between(1, 50) * millisecond, [this, weak] {
      stage_.fault(number_, "session given up");
      go_on(weak);
    });
  }
  const auto busy = early ? stage_.random.between(0, statement_outlives_session_max) : 0;
  const auto came = std::make_shared<bool>(false);
  stage_.scheduler.after(latency() + busy, [this, weak, life = life_, early, backend, fate, came,
                                            run = std::move(run)] {
    if (fate == lost_before) server_.end(backend, "statement lost");
    if (backend->alive) {
      run(*backend);
      *came = fate == answered;
      if (!*came) server_.end(backend, "answer lost");
    }
    if (!early && life == life_) later(latency(), [this, weak] { go_on(weak); });
  });
  fiber.wait();
  if (!*came) throw SessionLost("the session is gone");
}

bool Relay::wait_until(core::Time deadline) {
  auto& fiber = here();
  count_action();
  waiting_ = true;
  hinted_ = false;
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - time());
  later(std::max<Micros>(left.count(), 10), [this, wait = ++waits_] {
    if (waiting_ && waits_ == wait) go_on(main_);
  });
  fiber.wait();
  waiting_ = false;
  return hinted_;
}

void Relay::hint() {
  if (!waiting_) return;
  later(latency(), [this, wait = waits_] {
    if (!waiting_ || waits_ != wait) return;
    hinted_ = true;
    go_on(main_);
  });
}

void Relay::count_action() {
  const auto moves = stage_.evidence.moves.size();
  if (moves != moves_at_second_ || stage_.now() - second_ > second) {
    second_ = stage_.now();
    moves_at_second_ = moves;
    actions_in_second_ = 0;
  }
  busiest_second_ = std::max(busiest_second_, ++actions_in_second_);
}

}  // namespace seriatim::simulation

#include "simulation/relay.hpp"

#include <algorithm>
#include <utility>

namespace seriatim::simulation {

struct Relay::CallInHand {
  std::vector<Record> records;
  core::Time not_after;
  core::Time yield_at;
  std::optional<core::PollSource> then;
  Micros begun = 0;
  std::size_t place = 0;
  std::optional<BatchOutcome> answer;
};

Relay::Relay(Stage& stage, Server& server, Receiver& receiver, unsigned number)
    : stage_(stage), server_(server), receiver_(receiver), number_(number) {
  server_.on_notify([this] { hint(); });
}

// --- the process ---------------------------------------------------------------------------------

void Relay::run(bool drain) {
  ++life_;
  name_ = "relay-" + std::to_string(number_) + "." + std::to_string(life_);
  stopping_ = waiting_ = cut_off_ = false;
  if (!stage_.setup.fleet) wanted_ = true;
  frozen_until_ = 0;
  watch_ = std::make_shared<LeaseWatch>();
  remembered_.reset();
  known_epoch_ = 0;
  auto config = stage_.setup.config;
  if (stage_.setup.on_poison_changes && life_ % 4 > 1) {
    config.on_poison =
        config.on_poison == OnPoison::park_key ? OnPoison::dead_letter : OnPoison::park_key;
  }
  lane_.emplace(config, 0U, core::Lane::Options{.drain = drain, .hints = false});
  tell(core::Begin{});
}

void Relay::stop() {
  stopping_ = true;
  hint();
}

void Relay::want(bool wanted) {
  if (std::exchange(wanted_, wanted) != wanted) hint();
}

void Relay::kill(bool server_notices) {
  if (lane_) die(server_notices);
}

void Relay::freeze(Micros time) {
  if (!lane_) return;
  frozen_until_ = stage_.now() + time;
  stage_.fault(number_, "frozen");
}

void Relay::hint() {
  if (!waiting_) return;
  later(latency(), [this, wait = waits_] {
    if (waiting_ && waits_ == wait) wake(true);
  });
}

void Relay::later(Micros delay, Step step) {
  stage_.scheduler.after(delay,
                         [this, life = life_, step = std::move(step)] { resume(life, step); });
}

void Relay::resume(unsigned life, const Step& step) {
  if (life != life_ || !lane_) return;
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
  if (stage_.strikes(setup.stopped)) stopping_ = true;
  if (stage_.strikes(setup.ended)) server_.end(backend_, "backend terminated");
  if (stage_.strikes(setup.act_at_step)) stage_.operator_act();
  if (stage_.strikes(setup.whims)) wanted_ = !wanted_;
  if (stage_.faults_over && !setup.fleet) wanted_ = true;
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
    stage_.scheduler.after(latency(), [this, backend = backend_] {
      server_.end(backend, "backend of a killed relay ends");
    });
  }
  end_process();
}

void Relay::end_process() {
  ++life_;
  lane_.reset();
  backend_.reset();
  waiting_ = false;
  stage_.scheduler.after(stage_.random.between(1, 2'000) * millisecond, [this] {
    if (restarting_ && !lane_) run();
  });
}

// --- the driver ----------------------------------------------------------------------------------

core::Time Relay::time() const {
  return core::Time(std::chrono::hours(1) + std::chrono::microseconds(stage_.now()));
}

void Relay::tell(core::Event event) {
  count_action();
  const core::Moment moment{time(), stage_.random.unit(), stopping_, wanted_};
  const auto action = lane_->on(std::move(event), moment);
  std::visit([this](const auto& a) { perform(a); }, action);
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

void Relay::perform(const core::OpenSession&) {
  later(latency(), [this] {
    server_.close(backend_);  // where the lane wants another than the one it has
    backend_ = server_.connect(number_, name_, watch_);
    if (cut_off_) server_.end(backend_, "no connection to be had");
    if (!backend_ || !backend_->alive) return session_ended();
    lane_->set_hints(stage_.setup.hints);
    tell(core::Opened{});
  });
}

void Relay::perform(const core::ClaimLane&) {
  forget_rows();
  execute([this, known = known_epoch_](const BackendPtr& backend) -> core::Event {
    auto claim = server_.cursors().claim(backend, known);
    if (remembered_ && claim.granted) {
      claim.cursor.position = remembered_->position;
      claim.cursor.sequence = remembered_->sequence;
      remembered_.reset();
    }
    backend->any_aside = claim.has_parked;
    backend->keys_read = !claim.has_parked;
    if (!stage_.sabotaged(Sabotage::keys_not_reloaded)) backend->parked_keys.clear();
    return core::Claimed{std::move(claim)};
  });
}

/// Which keys are parked is read by a statement of its own, after the claim.
void Relay::load_parked(core::Event claimed) {
  execute([this, claimed = std::move(claimed)](const BackendPtr& backend) {
    backend->keys_read = true;
    if (!stage_.sabotaged(Sabotage::keys_not_reloaded)) {
      backend->parked_keys = server_.cursors().aside().keys();
    }
    return claimed;
  });
}

void Relay::perform(const core::LookAtCursor&) {
  forget_rows();
  execute([this](const BackendPtr&) { return core::Looked{server_.cursors().row()}; });
}

void Relay::perform(const core::StartBatch& a) {
  read_ahead(a.then);
  execute([this, a](const BackendPtr& b) {
    return core::Started{server_.cursors().start(*b, a.epoch, a.rows, a.again)};
  });
}

void Relay::perform(const core::Settle& a) {
  const auto& settlement = a.settlement;
  const bool plain = !settlement.failed();
  if (plain && stage_.sabotaged(Sabotage::advance_before_delivery)) {
    return reply(life_, core::Settled{});
  }
  if (plain && stage_.sabotaged(Sabotage::cursor_not_reread)) {
    remembered_.emplace();
    remembered_->position = settlement.from;
    remembered_->sequence = lane_->status().sequence;
  }
  execute([this, epoch = a.epoch, settlement](const BackendPtr& b) {
    const auto grant = server_.cursors().settle(*b, epoch, settlement);
    const bool rests = std::holds_alternative<Rest>(settlement.fate);
    if (grant == Grant::ours && rests && !settlement.done.empty()) {
      ask_behind(*b, settlement.done.back());
    }
    return core::Settled{grant};
  });
}

void Relay::perform(const core::ReleaseLane& a) {
  execute([this, a](const BackendPtr& b) {
    server_.cursors().release(*b, a.epoch, a.untouched);
    return core::Released{};
  });
}

void Relay::perform(const core::CloseSession&) {
  later(latency(), [this] {
    server_.close(backend_);
    backend_.reset();
    tell(core::Closed{});
  });
}

void Relay::perform(const core::WaitUntil& a) {
  waiting_ = true;
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(a.deadline - time());
  later(std::max<Micros>(left.count(), 10), [this, wait = ++waits_] {
    if (waiting_ && waits_ == wait) wake(false);
  });
}

void Relay::wake(bool early) {
  waiting_ = false;
  if (backend_ && !backend_->alive) return session_ended();
  tell(core::Woken{early});
}

void Relay::perform(const core::Finish&) {
  stage_.trace(stage_.now(), who(), [] { return std::string("has ended"); });
  left_as_ = lane_->status().state;
  server_.close(backend_);
  end_process();
}

// --- statements ----------------------------------------------------------------------------------

/// Answered; or lost before the server saw it, after, or while the server is still busy with it.
void Relay::execute(Statement statement) {
  enum { answered, lost_before, lost_after, lost_meanwhile };
  const auto fate = stage_.strikes(stage_.setup.answer_lost) ? 1 + stage_.one_of(3) : 0;
  const bool early = fate == lost_meanwhile;
  if (early) {
    later(stage_.random.between(1, 50) * millisecond, [this] {
      stage_.fault(number_, "session given up");
      session_ended();
    });
  }
  const auto busy = early ? stage_.random.between(0, statement_outlives_session_max) : 0;
  const auto life = early ? 0 : life_;  // nobody waits for this answer any more
  stage_.scheduler.after(latency() + busy,
                         [this, life, backend = backend_, fate, run = std::move(statement)] {
                           if (fate == lost_before) server_.end(backend, "statement lost");
                           if (!backend->alive)
                             return reply(life, core::SessionEnded{"statement failed"});
                           auto event = run(backend);
                           if (fate == answered) return reply(life, std::move(event));
                           server_.end(backend, "answer lost");
                           reply(life, core::SessionEnded{"answer lost"});
                         });
}

void Relay::reply(unsigned life, core::Event event) {
  if (life != life_) return;
  if (std::holds_alternative<core::SessionEnded>(event)) {
    return later(latency(), [this] { session_ended(); });
  }
  if (std::holds_alternative<core::Settled>(event)) remembered_.reset();
  const auto* claimed = std::get_if<core::Claimed>(&event);
  if (claimed != nullptr) {
    known_epoch_ = claimed->claim.cursor.epoch;
    const bool ours = claimed->claim.holder == name_;
    if (ours && !claimed->claim.granted)
      return later(latency(), [this] { perform(core::ClaimLane{}); });
  }
  if (claimed != nullptr && backend_ && !backend_->keys_read) return load_parked(std::move(event));
  later(latency(), [this, event = std::move(event)] { tell(event); });
}

void Relay::session_ended() {
  backend_.reset();
  tell(core::SessionEnded{"the session is gone"});
}

// --- a call --------------------------------------------------------------------------------------

void Relay::perform(const core::CallHandler& a) {
  auto call = std::make_shared<CallInHand>();
  call->records.assign(a.records.begin(), a.records.end());
  call->not_after = a.not_after;
  call->yield_at = a.yield_at;
  call->then = a.then;
  if (stage_.sabotaged(Sabotage::advance_before_delivery)) advance_early(call);
  later(stage_.random.between(1, 50), [this, call] { begin_call(call); });
}

void Relay::begin_call(const CallPtr& call) {
  if (time() > call->not_after && !stage_.sabotaged(Sabotage::late_call)) {
    return tell(core::CallExpired{});
  }
  if (knows_loss()) return session_ended();
  read_ahead(call->then);
  if (stage_.strikes(stage_.setup.partial / 10)) return tell(core::Called{});
  call->begun = stage_.now();
  send_row(call);
}

bool Relay::knows_loss() const {
  return backend_->known_lost(stage_.now()) && !stage_.sabotaged(Sabotage::call_on_dead_session);
}

void Relay::send_row(const CallPtr& call) {
  const auto answer = receiver_.take(number_, call->begun, call->place, call->records[call->place]);
  if (stage_.strikes(stage_.setup.crash_in_call)) server_.crash_within(answer.takes);
  later(answer.takes, [this, call, answer] { row_answered(call, answer); });
}

/// As RecordHandler does it: the first failure, the end of the batch or a wish to yield ends it.
void Relay::row_answered(const CallPtr& call, const Receiver::Answer& answer) {
  const auto place = call->place++;
  if (answer.thrown && !call->answer) call->answer = {0, answer.outcome};
  if (!answer.outcome.is_done() && !call->answer) call->answer = {place, answer.outcome};
  const bool failed = call->answer && !stage_.sabotaged(Sabotage::failure_overtaken);
  const bool last = call->place == call->records.size();
  const bool late = time() >= call->yield_at && !stage_.sabotaged(Sabotage::late_call);
  const bool yields = stopping_ || late || knows_loss() || stage_.strikes(stage_.setup.partial);
  if (!failed && !last && !yields) return send_row(call);
  tell(core::Called{call->answer.value_or(BatchOutcome{call->place, std::nullopt}),
                    call->then ? rows_ahead() : 0});
}

/// Sabotage: the rows of the call are called done before they are.
void Relay::advance_early(const CallPtr& call) {
  Settlement advance{.from = lane_->status().position, .done = {}, .queued = {}, .fate = Next{}};
  for (const auto& record : call->records) advance.done.push_back(record.position);
  server_.cursors().settle(*backend_, call->records.front().epoch, advance);
}

}  // namespace seriatim::simulation

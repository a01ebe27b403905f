#include "simulation/auditor.hpp"

namespace seriatim::simulation {

namespace {

constexpr Micros turn_interval = second;
/// Where things fail, so many of its steps are held up, and for how long.
constexpr double held_up = 0.05;
constexpr Micros held_up_max = 8 * second;

bool is_active(const Cursor& cursor) {
  return cursor.state == Cursor::State::running || cursor.state == Cursor::State::retrying;
}

}  // namespace

void Auditor::start() {
  thread_ = std::make_shared<Fiber>([this] { live(); });
  thread_->resume();
}

void Auditor::live() {
  for (;;) {
    pass(turn_interval);
    try {
      turn();
    } catch (const Gone&) {
    }
  }
}

void Auditor::turn() {
  life_ = relay_.name();
  if (!is_ours()) return;
  seen_ = server_.cursors().row();
  if (!seen_.position || !is_active(seen_)) return;
  stage_.evidence.audits.push_back(stage_.now());
  if (stage_.sabotaged(Sabotage::no_audit)) return;
  check_behind(server_.cursors().ledger().newest(audited_up_to()));
  walk();
}

void Auditor::walk() {
  const auto older = server_.cursors().ledger().closed(buckets_walked_, audited_up_to());
  if (!older || stage_.sabotaged(Sabotage::newest_audited)) {
    buckets_walked_ = 0;
    return;
  }
  check_behind(*older);
  buckets_walked_ += 1;
}

void Auditor::check_behind(const NotedRange& range) {
  at_server();
  const auto late = late_rows(range);
  if (!late.empty()) halt(range, late.front().id);
}

std::vector<Table::Row> Auditor::late_rows(const NotedRange& range) const {
  const bool aside_too = stage_.sabotaged(Sabotage::aside_taken_for_late);
  return server_.cursors().late_rows(range, 1, aside_too);
}

/// Once no call is in flight; compares in the transaction that has the row's lock. The turn is over
/// then.
void Auditor::halt(const NotedRange& range, std::int64_t found) {
  auto& cursors = server_.cursors();
  at_server();
  while (cursors.is_in_call(watch_)) {
    cursors.hold(hold_length);
    at_server();
  }
  cursors.end_hold();
  const auto now = cursors.row();
  if (stage_.sabotaged(Sabotage::audit_not_compared)) {
    cursors.halt_late(found);
  } else if (now.epoch == seen_.epoch && is_active(now)) {
    const auto late = late_rows(range);
    if (!late.empty()) cursors.halt_late(late.front().id);
  }
  throw Gone{};
}

void Auditor::pass(Micros delay) {
  stage_.scheduler.after(delay, [this] { thread_->resume(); });
  thread_->wait();
}

/// Later, or never if the relay is dead or the server down; if it is frozen, once it thaws.
void Auditor::at_server() {
  const auto delay = stage_.random.between(40, 300);
  const bool late = stage_.setup.faults && stage_.strikes(held_up);
  pass(late ? stage_.random.between(delay, held_up_max) : delay);
  while (relay_.name() == life_ && relay_.is_frozen()) pass(millisecond);
  if (relay_.name() != life_ || !relay_.is_running()) throw Gone{};
  if (!server_.is_up() || stage_.strikes(stage_.setup.answer_lost)) throw Gone{};
}

bool Auditor::is_ours() const {
  return relay_.is_running() && !relay_.is_frozen() && server_.is_up() &&
         server_.cursors().holder() == life_;
}

/// Within the window late rows are delivered.
Position Auditor::audited_up_to() const {
  const auto start = server_.cursors().late_window_start();
  return start ? end_of(*start) : *seen_.position;
}

}  // namespace seriatim::simulation

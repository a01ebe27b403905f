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
  stage_.scheduler.after(turn_interval, [this] {
    turn();
    start();
  });
}

void Auditor::turn() {
  life_ = relay_.name();
  if (!is_ours()) return;
  seen_ = server_.cursors().row();
  if (!seen_.position || !is_active(seen_)) return;
  stage_.evidence.audits.push_back(stage_.now());
  if (stage_.sabotaged(Sabotage::no_audit)) return;
  look_behind(server_.cursors().ledger().newest(audited_up_to()), [this] { walk(); });
}

void Auditor::walk() {
  const auto older = server_.cursors().ledger().closed(buckets_walked_, audited_up_to());
  if (!older || stage_.sabotaged(Sabotage::newest_audited)) {
    buckets_walked_ = 0;
    return;
  }
  look_behind(*older, [this] { buckets_walked_ += 1; });
}

void Auditor::look_behind(const NotedRange& range, const Step& then) {
  at_server(stage_.random.between(40, 300), [this, range, then] {
    const auto late = late_rows(range);
    if (late.empty()) return then();
    halt(range, late.front().id);
  });
}

std::vector<Table::Row> Auditor::late_rows(const NotedRange& range) const {
  const bool aside_too = stage_.sabotaged(Sabotage::aside_taken_for_late);
  return server_.cursors().late_rows(range, 1, aside_too);
}

/// Once no call is in flight; compares in the transaction that has the row's lock.
void Auditor::halt(const NotedRange& range, std::int64_t found) {
  at_server(stage_.random.between(40, 300), [this, range, found] {
    auto& cursors = server_.cursors();
    if (cursors.is_in_call(watch_)) {
      cursors.hold(hold_length);
      return halt(range, found);
    }
    cursors.end_hold();
    const auto now = cursors.row();
    if (stage_.sabotaged(Sabotage::audit_not_compared)) return cursors.halt_late(found);
    if (now.epoch != seen_.epoch || !is_active(now)) return;
    const auto late = late_rows(range);
    if (!late.empty()) cursors.halt_late(late.front().id);
  });
}

/// Later, or never if the relay is dead or the server down; if it is frozen, once it thaws.
void Auditor::at_server(Micros delay, const Step& step) {
  const bool late = stage_.setup.faults && stage_.strikes(held_up);
  stage_.scheduler.after(late ? stage_.random.between(delay, held_up_max) : delay, [this, step] {
    if (relay_.name() != life_ || !relay_.is_running()) return;
    if (relay_.is_frozen()) return at_server(millisecond, step);
    if (server_.is_up() && !stage_.strikes(stage_.setup.answer_lost)) step();
  });
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

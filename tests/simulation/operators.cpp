#include "simulation/operators.hpp"

#include <algorithm>

namespace seriatim::simulation {

namespace {

constexpr Micros settle_interval = 50 * millisecond;
constexpr Micros settle_max = 10 * second;
/// An act in want of a turn tries again so soon; each time it asks for a turn for so long.
constexpr Micros try_again = 5 * millisecond;
constexpr Micros turn_max = 30 * second;

/// Of what is decided on together: a dead letter by itself, a key with all that queues.
std::string name_of(const AsideStore::Row& row) {
  if (!row.holds_key) return "row " + row.position.id;
  return row.key ? "key " + *row.key : "no key";
}

std::string text_of(const ParkedChoice& choice) {
  return choice.all() ? "all" : choice.id ? "row " + *choice.id : "key " + *choice.key;
}

}  // namespace

/// A rewind forwards in the making.
struct Operators::Jump {
  BackendPtr backend;
  Position to;
  Micros deadline = 0;
  core::Fence fence{order_key_min};
  OrderKey f = order_key_min;
  std::vector<core::Holder> holders;
};

void Operators::start() {
  const auto mean = stage_.setup.operator_act;
  if (mean == 0) return;
  stage_.scheduler.after(stage_.random.between(1, 2 * mean), [this] {
    if (stage_.faults_over) return;
    act_once();
    start();
  });
}

void Operators::act_once() {
  const auto unless_over = [this] {
    if (!stage_.faults_over) act();
  };
  in_turn(unless_over, stage_.now() + turn_max);
}

/// Asks for a turn while a call is in flight, and tries again; gives up in the end.
void Operators::in_turn(std::function<void()> act, Micros deadline) {
  auto& cursors = server_.cursors();
  const bool waits = server_.is_up() && cursors.is_in_call(watch_) &&
                     !stage_.sabotaged(Sabotage::act_ignores_call);
  if (server_.is_up() && !waits) {
    cursors.end_hold();
    return act();
  }
  if (stage_.now() > deadline) return;
  if (waits) cursors.hold(hold_length);
  stage_.scheduler.after(try_again,
                         [this, act = std::move(act), deadline] { in_turn(act, deadline); });
}

void Operators::act() {
  const auto row = server_.cursors().row();
  if (stage_.setup.rewinds && stage_.one_of(3) == 0) return rewind(row);
  if (!server_.cursors().aside().parked().empty() && stage_.one_of(2) == 0) {
    return decide_on_parked();
  }
  stage_.one_of(2) == 0 ? pause_or_resume(row) : retry_or_skip(row);
}

void Operators::watch_act() {
  stage_.scheduler.after(stage_.random.between(100, 500) * millisecond, [this] {
    const auto after = [this] {
      const auto row = server_.cursors().row();
      if (row.state == Cursor::State::paused) pause_or_resume(row);
      if (row.state == Cursor::State::halted) retry_or_skip(row);
      const auto parked = server_.cursors().aside().parked();
      const bool all_decided = std::all_of(parked.begin(), parked.end(),
                                           [this](const auto& p) { return is_decided_on(p); });
      if (!all_decided) decide_on_parked();
    };
    in_turn(after, stage_.now() + turn_max);
    watch_act();
  });
}

void Operators::pause_or_resume(const Cursor& row) {
  const bool paused = row.state == Cursor::State::paused;
  if (row.state == Cursor::State::halted) return;
  stage_.trace(stage_.now(), "operator", [&] { return paused ? "resume" : "pause"; });
  server_.cursors().set_state(paused ? Cursor::State::running : Cursor::State::paused);
}

void Operators::retry_or_skip(const Cursor& row) {
  const bool waits = row.state == Cursor::State::halted || row.state == Cursor::State::retrying;
  if (!waits) return;
  if (!row.row_id || stage_.one_of(2) == 0) return mend_and_retry(row);
  skip(row);
}

void Operators::mend_and_retry(const Cursor& row) {
  if (row.row_id && stage_.one_of(2) == 0) receiver_.fix(*row.row_id);
  if (row.reason == HaltReason::late_row && stage_.one_of(2) == 0) {
    stage_.trace(stage_.now(), "operator", [&] { return "gives a new place to " + *row.row_id; });
    if (server_.cursors().late_row(*row.row_id)) server_.table().give_new_place(*row.row_id);
    if (stage_.one_of(3) == 0) return;  // and forgets to say so
  }
  stage_.trace(stage_.now(), "operator", [] { return "retry"; });
  server_.cursors().set_state(Cursor::State::running);
}

/// By its name: the row the lane is at, if it was tried there and so was settled, or one that
/// appeared behind the cursor.
void Operators::skip(const Cursor& row) {
  auto& cursors = server_.cursors();
  if (cursors.aside().find_parked(*row.row_id) != nullptr) return discard({row.row_id, {}});
  stage_.trace(stage_.now(), "operator", [&] { return "skip " + *row.row_id; });
  if (const auto late = cursors.late_row(*row.row_id)) return cursors.skip_late(position_of(*late));
  const auto waiting = server_.table().rows_after(row.position);
  if (waiting.empty() || std::to_string(waiting.front().id) != *row.row_id) return;
  // A late row that was given a new place was not tried there.
  const bool tried = row.reason != HaltReason::late_row;
  if (!tried && !stage_.sabotaged(Sabotage::late_row_counts_as_tried)) return;
  cursors.skip(position_of(waiting.front()));
}

// --- parked rows ---------------------------------------------------------------------------------

/// Redriven since it failed, or since the row failed that it queues behind: then nothing is left to
/// do for a person but to wait. The rows of a held key go out by themselves.
bool Operators::is_decided_on(const AsideStore::Row& row) const {
  const auto rows = server_.cursors().aside().parked();
  const bool held = std::any_of(rows.begin(), rows.end(), [&](const AsideStore::Row& other) {
    return other.head && other.retry_at && name_of(other) == name_of(row);
  });
  if (held) return true;
  const auto redriven = redriven_at_.find(name_of(row));
  if (redriven == redriven_at_.end()) return false;
  const auto parked = server_.cursors().aside().parked();
  return std::none_of(parked.begin(), parked.end(), [&](const AsideStore::Row& other) {
    return name_of(other) == name_of(row) && other.failed_at > redriven->second;
  });
}

/// One row, those of its key, or all; sent again, fixed or not, or given up.
void Operators::decide_on_parked() {
  const auto rows = server_.cursors().aside().parked();
  const auto& one =
      rows[static_cast<std::size_t>(stage_.one_of(static_cast<std::int64_t>(rows.size())))];
  ParkedChoice choice;
  const auto how_many = stage_.choices != nullptr ? 0 : stage_.random.between(0, 2);
  if (how_many == 0) choice.id = one.position.id;
  if (how_many == 1 && one.key) choice.key = one.key;
  const auto decision = stage_.one_of(3);
  if (decision == 0) return discard(choice);
  if (decision == 1) receiver_.fix(one.position.id);
  redrive(choice);
}

void Operators::redrive(const ParkedChoice& choice) {
  stage_.trace(stage_.now(), "operator", [&] { return "redrive " + text_of(choice); });
  const auto& aside = server_.cursors().aside();
  const auto* const named = choice.id ? aside.find_parked(*choice.id) : nullptr;
  for (const auto& row : aside.parked()) {
    const bool chosen = choice.all() || choice.id == row.position.id ||
                        (choice.key && choice.key == row.key) ||
                        (named != nullptr && name_of(*named) == name_of(row));
    if (chosen) redriven_at_[name_of(row)] = stage_.now();
  }
  server_.cursors().redrive(choice);
}

void Operators::discard(const ParkedChoice& choice) {
  stage_.trace(stage_.now(), "operator", [&] { return "discard " + text_of(choice); });
  for (const auto& row : server_.cursors().aside().parked()) redriven_at_.erase(name_of(row));
  server_.cursors().discard(choice);
}

// --- rewind --------------------------------------------------------------------------------------

void Operators::rewind(const Cursor& row) {
  if (row.position && stage_.one_of(2) == 0) return go_back(*row.position);
  const auto waiting = server_.table().rows_after(row.position);
  if (waiting.empty()) return;
  const auto last = static_cast<std::int64_t>(waiting.size()) - 1;
  auto jump = std::make_shared<Jump>();
  jump->backend = server_.connect(0, "operator", nullptr);
  jump->to = position_of(waiting[static_cast<std::size_t>(stage_.random.between(0, last))]);
  jump->deadline = stage_.now() + settle_max;
  jump_when_settled(jump);
}

void Operators::go_back(const Position& from) {
  const auto behind = server_.table().rows_between(std::nullopt, from);
  if (behind.empty()) return;
  const auto kept = stage_.random.between(0, static_cast<std::int64_t>(behind.size()) - 1);
  auto to = kept == 0 ? std::nullopt
                      : std::optional(position_of(behind[static_cast<std::size_t>(kept) - 1]));
  stage_.trace(stage_.now(), "operator",
               [&] { return "rewind, back to " + (to ? to->id : std::string("the start")); });
  redriven_at_.clear();
  server_.cursors().go_back(to);
}

void Operators::next(Micros delay, const JumpPtr& jump, void (Operators::*step)(const JumpPtr&)) {
  stage_.scheduler.after(delay, [this, jump, step] {
    if (jump->backend->alive) (this->*step)(jump);
  });
}

void Operators::jump_when_settled(const JumpPtr& jump) {
  const auto& table = server_.table();
  const bool by_id = stage_.setup.order == OrderBy::id;
  jump->f = by_id ? table.order_key_of(jump->to) + 1 : *table.high_mark(std::nullopt, 1);
  next(100, jump, &Operators::read_locks);
}

void Operators::read_locks(const JumpPtr& jump) {
  jump->holders = server_.table().fast_path_holders();
  stage_.scheduler.after(stage_.random.between(1, stage_.setup.scan_gap_max), [this, jump] {
    if (!jump->backend->alive) return;
    const auto shared = server_.table().shared_holders();
    jump->holders.insert(jump->holders.end(), shared.begin(), shared.end());
    const auto settled = jump->fence.settle(jump->f, jump->holders);
    const bool enough = core::is_settled(server_.table().order_key_of(jump->to), settled) ||
                        stage_.sabotaged(Sabotage::jump_not_settled);
    if (enough) return next(100, jump, &Operators::jump);
    if (stage_.now() > jump->deadline) return server_.close(jump->backend);
    next(settle_interval, jump, &Operators::jump_when_settled);
  });
}

/// A lane that has passed the place meanwhile stays.
void Operators::jump(const JumpPtr& jump) {
  auto& cursors = server_.cursors();
  if (cursors.is_in_call(watch_)) {
    cursors.hold(hold_length);
    return next(try_again, jump, &Operators::jump);
  }
  cursors.end_hold();
  const auto from = cursors.row().position;
  const auto row = server_.table().row(jump->to.id);
  if (!row || position_of(*row) != jump->to) return server_.close(jump->backend);
  if (!from || core::comes_after(jump->to, *from, stage_.setup.order)) {
    stage_.trace(stage_.now(), "operator", [&] { return "rewind, forward to " + jump->to.id; });
    cursors.jump(jump->to);
  }
  server_.close(jump->backend);
}

}  // namespace seriatim::simulation

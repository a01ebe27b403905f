// A poll of a simulated relay, made of the parts src/postgres makes one of.
#include <algorithm>
#include <utility>

#include "core/queueing.hpp"
#include "simulation/relay.hpp"

namespace seriatim::simulation {

namespace {

constexpr Micros audit_interval = second;
constexpr Micros look_duty_cycle = 10;  ///< a look is followed by none for so many times its length

bool nothing_in(const Round& round) {
  return round.records.empty() && !round.unreadable;
}

}  // namespace

/// A poll in the making.
struct Relay::Look {
  unsigned life = 0;
  BackendPtr backend;
  core::PollSource asked;
  std::shared_ptr<Ahead> ahead;  ///< it reads ahead, beside what else the session does
  Mark f = mark_min;
  Mark settled = mark_min;
  std::vector<core::Holder> holders;
  CursorStore::Window window;
  bool looked = true;  ///< for late rows
  bool idle = false;   ///< no row waits
  Round round;         ///< what goes out
};

void Relay::at_server(Micros delay, const LookPtr& look, Step step) {
  stage_.scheduler.after(delay, [this, look, step = std::move(step)] {
    if (look->life != life_) return;
    if (look->backend->alive) return step();
    if (!look->ahead) reply(look->life, core::SessionEnded{"poll failed"});
  });
}

void Relay::perform(const core::PollSource& a) {
  auto look = std::make_shared<Look>();
  look->life = life_;
  look->backend = backend_;
  look->asked = a;
  backend_->polled_after = a.after;
  backend_->polled_max = a.rows_max;
  backend_->written.reset();
  if (std::exchange(backend_->next_starts, false)) {  // known already, as with locked_ahead
    look->round = std::exchange(backend_->ahead, nullptr)->round;
    look->round.started = true;
    return answer(look);
  }
  if (stage_.strikes(stage_.setup.answer_lost)) server_.end(backend_, "connection lost in a poll");
  at_server(latency(), look, [this, look] { redrive(look); });
}

void Relay::look_on(const LookPtr& look) {
  if (look->idle) return answer(look);
  stage_.setup.lookback > 0 ? read_window(look) : audit(look);
}

void Relay::answer(const LookPtr& look) {
  auto& session = *look->backend;
  if (look->ahead) return answer_ahead(*look);
  if (!stage_.sabotaged(Sabotage::behind_kept)) session.behind.reset();
  const bool idle = nothing_in(look->round) && !look->round.fenced;
  if (idle && session.any_parked && !std::exchange(look->idle, true)) return redrive(look);
  if (!session.redriven) {
    if (session.plans) plan(*look);
    core::queue_rows_of(session.parked_keys, look->round);
  }
  session.records_left = look->round.records.size();
  session.queued_left = look->round.queued.size();
  stage_.trace(stage_.now(), who(), [&] {
    std::string rows;
    for (const auto& record : look->round.records) {
      rows += ' ' + record.id() + (record.late ? " (late)" : "");
    }
    for (const auto& row : look->round.queued) rows += ' ' + row.position.id + " (queues)";
    return "polls: F " + std::to_string(look->f) + ", " + std::to_string(look->holders.size()) +
           " holders, settled " + std::to_string(look->settled) + ", rows" + rows +
           (look->round.fenced ? ", fenced" : "");
  });
  reply(look->life, core::Polled{std::move(look->round)});
}

// --- rows set aside ------------------------------------------------------------------------------

/// One that is due comes before all others, unless an attempt at rows after the cursor is open:
/// they have their numbers. Where no row waits there are none.
void Relay::redrive(const LookPtr& look) {
  auto& session = *look->backend;
  session.redriven.reset();
  session.planned.reset();
  session.plans = stage_.setup.lookback > 0;
  if (!session.any_parked) return look_on(look);
  auto window = server_.cursors().redrive_window();
  if (!window.due) return look_on(look);
  const bool started = !window.planned.empty() && window.planned.front() == *window.due;
  const bool batch_in_hand = session.plans && !window.planned.empty();
  const bool none_open = look->asked.may_redrive && window.handed_to <= window.sequence;
  const bool may_begin = none_open || look->idle || stage_.sabotaged(Sabotage::redrive_while_open);
  if (!started && (!may_begin || batch_in_hand)) return look_on(look);
  session.sequence_before = window.sequence;
  session.handed_to_before = window.handed_to;
  session.planned_before = std::move(window.planned);
  at_server(latency(), look, [this, look, id = *window.due, started] {
    const auto row = server_.table().row(id);
    if (!row) return look_on(look);
    add(look->round, *row, *look);
    look->round.records.front().late = true;
    look->round.redriven = true;
    look->backend->redriven = id;
    look->backend->plans = true;
    if (!started) look->backend->planned = {id};
    answer(look);
  });
}

// --- late rows, delivered ------------------------------------------------------------------------

/// What was started is finished first, in its order.
void Relay::read_window(const LookPtr& look) {
  auto& session = *look->backend;
  session.late_ids.clear();
  look->window = server_.cursors().window(session, look->asked.after);
  look->looked = !look->asked.after;
  if (look->looked && stage_.sabotaged(Sabotage::plan_not_read_at_first)) {
    look->window.planned.clear();
  }
  read_named(look, look->window.planned, [this, look, &session] {
    const bool due = !session.found.empty() || stage_.now() >= session.next_look;
    if (!nothing_in(look->round) || look->looked || !due) return audit(look);
    find_late_rows(look, [this, look] { audit(look); });
  });
}

void Relay::find_late_rows(const LookPtr& look, Step step) {
  look->looked = true;
  const auto took = latency();
  at_server(took, look, [this, look, took, step = std::move(step)] {
    auto& session = *look->backend;
    const auto& cursor = *look->asked.after;
    const auto range = server_.cursors().ledger().since(look->window.start, cursor);
    std::vector<std::string> ids;
    for (const auto& row : server_.cursors().late_rows(range, look->asked.rows_max)) {
      ids.push_back(std::to_string(row.id));
    }
    session.next_look = stage_.now() + look_duty_cycle * took;
    session.found = {ids.begin(), ids.end()};
    const bool complete = ids.size() < look->asked.rows_max;
    session.looked_at_soon = complete ? std::optional(cursor.created_at_us) : std::nullopt;
    if (ids.empty()) session.looked_at = cursor.created_at_us;
    read_named(look, ids, step);
  });
}

void Relay::read_named(const LookPtr& look, const std::vector<std::string>& ids, Step step) {
  if (ids.empty()) return step();
  at_server(latency(), look, [this, look, ids, step = std::move(step)] {
    for (const auto& id : ids) {
      if (look->round.records.size() == look->asked.rows_max || look->round.unreadable) break;
      if (const auto row = server_.table().row(id)) add(look->round, *row, *look);
    }
    step();
  });
}

/// A batch started before keeps its plan, of which this round may be the first part only.
void Relay::plan(const Look& look) {
  auto& session = *look.backend;
  std::vector<std::string> ids;
  for (const auto& record : look.round.records) {
    ids.push_back(record.id());
    if (record.late) session.late_ids.insert(record.id());
  }
  const auto& before = look.window.planned;
  const bool started_before =
      !ids.empty() && std::find(before.begin(), before.end(), ids.front()) != before.end();
  if (!started_before) session.planned = std::move(ids);
}

// --- the audit -----------------------------------------------------------------------------------

void Relay::audit(const LookPtr& look) {
  stage_.evidence.polls.push_back(stage_.now());
  const auto& after = look->asked.after;
  const bool due = after && stage_.now() >= look->backend->next_audit;
  if (!due || stage_.sabotaged(Sabotage::no_audit)) return read_mark(look);
  const auto newest = server_.cursors().ledger().newest(audited_up_to(*look));
  look_behind(look, newest, [this, look] { audit_next_bucket(look); });
}

/// Within the window late rows are delivered.
Position Relay::audited_up_to(const Look& look) const {
  return stage_.setup.lookback > 0 ? end_of(look.window.start) : *look.asked.after;
}

void Relay::audit_next_bucket(const LookPtr& look) {
  auto& session = *look->backend;
  const auto turn_over = [this, look, &session] {
    session.next_audit = stage_.now() + audit_interval;
    read_mark(look);
  };
  const auto older =
      server_.cursors().ledger().closed(session.buckets_walked, audited_up_to(*look));
  if (!older || stage_.sabotaged(Sabotage::newest_audited)) {
    session.buckets_walked = 0;
    return turn_over();
  }
  look_behind(look, *older, [&session, turn_over] {
    session.buckets_walked += 1;
    turn_over();
  });
}

/// A row that was neither delivered nor set aside halts the lane; else `step` comes next.
void Relay::look_behind(const LookPtr& look, const NotedRange& range, Step step) {
  at_server(latency(), look, [this, look, range, step = std::move(step)] {
    const auto late = server_.cursors().late_rows(range, 1);
    if (late.empty()) return step();
    Round round;
    round.unreadable = {std::to_string(late.front().id), HaltReason::late_row, "appeared behind"};
    reply(look->life, core::Polled{std::move(round)});
  });
}

// --- reading ahead -------------------------------------------------------------------------------

void Relay::read_ahead(const std::optional<core::PollSource>& then) {
  auto& ahead = backend_->ahead;
  if (!then || (ahead && ahead->after == *then->after && ahead->rows_max == then->rows_max)) return;
  ahead = std::make_shared<Ahead>(Ahead{*then->after, then->rows_max, false, {}});
  auto look = std::make_shared<Look>();
  look->life = life_;
  look->backend = backend_;
  look->asked = *then;
  look->ahead = ahead;
  at_server(latency(), look, [this, look] { read_mark(look); });
}

void Relay::answer_ahead(Look& look) {
  look.ahead->round = std::move(look.round);
  look.ahead->done = true;
}

/// In the place of a poll's own statements, once it is there; where it is of no use they come.
void Relay::take_ahead(const LookPtr& look) {
  auto& ahead = look->backend->ahead;
  const bool asked = ahead->after == look->asked.after && ahead->rows_max == look->asked.rows_max;
  if (asked && !ahead->done) {
    return at_server(latency(), look, [this, look] { read_mark(look); });
  }
  const auto taken = std::exchange(ahead, nullptr);
  if (!asked || taken->round.records.empty()) return read_mark(look);
  look->round = std::move(taken->round);
  answer(look);
}

/// Nothing else comes first.
bool Relay::next_read() const {
  const auto& session = *backend_;
  const bool plain = stage_.setup.lookback == 0 && !session.any_parked &&
                     (stage_.now() < session.next_audit || stage_.sabotaged(Sabotage::no_audit));
  return plain && session.ahead && session.ahead->done && !session.ahead->round.records.empty();
}

// --- rows that come with a commit ----------------------------------------------------------------

/// Where a poll would begin with the rows.
void Relay::ask_behind(Backend& session, const Position& cursor) const {
  const auto& setup = stage_.setup;
  const bool rows_come_first = setup.lookback == 0 && !session.any_parked;
  if (!setup.asks_behind || setup.order != OrderBy::id || !rows_come_first) return;
  const auto& table = server_.table();
  session.behind = {cursor, session.polled_max, table.rows_after(cursor), table.wal.written};
}

/// In the place of a poll's own statements, where they tell of the first row or that there is none.
bool Relay::take_behind(const LookPtr& look) {
  auto& session = *look->backend;
  const auto behind = session.behind;
  if (behind && stage_.sabotaged(Sabotage::behind_kept)) look->asked.after = behind->after;
  if (!behind || behind->after != look->asked.after || behind->rows_max != look->asked.rows_max) {
    return false;
  }
  if (stage_.sabotaged(Sabotage::behind_hole_passed)) look->settled = mark_max;
  auto round = settled_of(behind->rows, *look);
  if (round.records.empty() && !behind->rows.empty()) return false;
  look->round.records = std::move(round.records);
  session.written = behind->written;
  return true;
}

void Relay::forget_rows() {
  backend_->ahead.reset();
  if (!stage_.sabotaged(Sabotage::behind_kept)) backend_->behind.reset();
}

// --- F, the locks, the rows ----------------------------------------------------------------------

void Relay::read_mark(const LookPtr& look) {
  if (!nothing_in(look->round)) return answer(look);
  if (look->backend->ahead && !look->ahead) return take_ahead(look);
  if (!look->ahead && take_behind(look)) return answer(look);
  if (clock_went_back(*look)) {
    if (look->ahead) return answer(look);
    return reply(look->life, core::SourceFailed{HaltReason::clock_back, "the clock went back"});
  }
  const auto f = server_.table().high_mark(look->asked.after, look->asked.rows_max);
  if (!f) return answer(look);
  look->f = *f;
  at_server(latency(), look, [this, look] { read_locks(look); });
}

/// By more than rows must be old since this session last looked, or to before the cursor.
bool Relay::clock_went_back(const Look& look) const {
  if (stage_.setup.order == OrderBy::id) return false;
  const Mark clock = server_.table().clock();
  auto& latest = look.backend->latest_clock;
  if (latest != mark_min && clock < latest - stage_.setup.insert_latency) return true;
  latest = std::max(latest, clock);
  return look.asked.after && look.asked.after->created_at_us > clock;
}

/// pg_locks reads the backends' fast-path slots, then the shared table.
void Relay::read_locks(const LookPtr& look) {
  look->holders = server_.table().fast_path_holders();
  at_server(stage_.random.between(1, stage_.setup.scan_gap_max), look, [this, look] {
    const auto shared = server_.table().shared_holders();
    look->holders.insert(look->holders.end(), shared.begin(), shared.end());
    auto& session = *look->backend;
    auto& fence = look->ahead ? session.ahead_fence : session.fence;
    auto& fence_from = look->ahead ? session.ahead_fence_from : session.fence_from;
    const auto& after = look->asked.after;
    const Mark cursor = after ? server_.table().mark_of(*after) : mark_min;
    if (!fence || cursor < fence_from) {
      fence.emplace(cursor);
      fence_from = cursor;
    }
    look->settled = fence->settle(look->f, look->holders);
    at_server(latency(), look, [this, look] { read_rows(look); });
  });
}

void Relay::read_rows(const LookPtr& look) {
  look->round = settled_of(server_.table().rows_after(look->asked.after), *look);
  if (!look->ahead) look->backend->written = server_.table().wal.written;
  if (look->looked || look->ahead || !nothing_in(look->round)) return answer(look);
  find_late_rows(look, [this, look] { answer(look); });
}

Round Relay::settled_of(const std::vector<Table::Row>& rows, const Look& look) const {
  const auto& table = server_.table();
  const bool by_id = stage_.setup.order == OrderBy::id;
  // In id order a run without a hole after the cursor is settled, whoever writes.
  Mark run_end = by_id && look.asked.after ? table.mark_of(*look.asked.after) : mark_min;
  Round round;
  for (const auto& row : rows) {
    if (round.records.size() == look.asked.rows_max || round.unreadable) break;
    const Mark mark = table.mark_of(row);
    if (run_end != mark_min && mark == run_end + 1) run_end = mark;
    const bool settled = core::is_settled(mark, look.settled);
    if (!settled && mark != run_end) {
      round.fenced = true;
      break;
    }
    add(round, row, look);
  }
  return round;
}

void Relay::add(Round& round, const Table::Row& row, const Look& look) const {
  if (row.bad) {
    round.unreadable = {std::to_string(row.id), HaltReason::bad_payload, "too long"};
    return;
  }
  Record record;
  record.position = position_of(row);
  record.payload = payload_of(row.number);
  record.key = row.key;
  const auto& cursor = look.asked.after;
  record.late = cursor && !core::comes_after(record.position, *cursor, stage_.setup.order);
  round.records.push_back(std::move(record));
}

}  // namespace seriatim::simulation

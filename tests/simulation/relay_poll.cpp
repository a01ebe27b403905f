// A poll of a simulated relay, made of the parts src/postgres makes one of.
#include <algorithm>
#include <utility>

#include "core/queueing.hpp"
#include "simulation/relay.hpp"

namespace seriatim::simulation {

namespace {

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
  Mark window_start = mark_min;
  bool looked = true;  ///< for late rows; that comes after the rows after the cursor are read
  bool over = false;   ///< the table was read, so what is due may be all there is
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
  look->looked = stage_.setup.lookback == 0;
  backend_->polled_after = a.after;
  backend_->polled_max = a.rows_max;
  backend_->written.reset();
  if (std::exchange(backend_->announced, false)) {
    look->round = std::exchange(backend_->ahead, nullptr)->round;
    look->round.announced = true;
    return answer(look);
  }
  if (stage_.strikes(stage_.setup.answer_lost)) server_.end(backend_, "connection lost in a poll");
  at_server(latency(), look, [this, look] { read_due(look); });
}

void Relay::look_on(const LookPtr& look) {
  look->over ? answer(look) : read_mark(look);
}

void Relay::answer(const LookPtr& look) {
  auto& session = *look->backend;
  if (look->ahead) return answer_ahead(*look);
  if (!stage_.sabotaged(Sabotage::behind_kept)) session.behind.reset();
  if (!look->looked) return look_for_late_rows(look);
  if (nothing_in(look->round) && !std::exchange(look->over, true)) return read_due(look);
  session.due_went_out = look->round.redriven;
  choose(*look);
  const bool behind = !look->round.records.empty() && look->round.records.front().late;
  const bool overtakes = behind && stage_.sabotaged(Sabotage::due_overtakes_queue);
  if (!look->round.redriven && !overtakes) core::queue_rows_of(session.parked_keys, look->round);
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

/// Due rows come before all others, unless an attempt at rows after the cursor is open: they have
/// their numbers. Where no row waits there are none. After a batch of them, one of new rows.
void Relay::read_due(const LookPtr& look) {
  auto& session = *look->backend;
  if (!look->over) session.looked_at_soon.reset();
  const bool all_aside = stage_.setup.lookback > 0;
  if (!session.any_aside && !all_aside) return look_on(look);
  if (!look->asked.after && stage_.sabotaged(Sabotage::plan_not_read_at_first)) {
    return look_on(look);
  }
  const auto due = server_.cursors().due_rows();
  const bool turn = look->over || !std::exchange(session.due_went_out, false);
  const bool none_open = look->asked.may_redrive && due.handed_to <= due.sequence && turn;
  const bool idle = look->over && !look->round.fenced;
  const bool may_begin = none_open || idle || stage_.sabotaged(Sabotage::redrive_while_open);
  std::vector<AsideStore::Row> batch;
  for (const auto& row : due.rows) {
    const bool same = batch.empty()
                          ? row.begun || may_begin
                          : row.begun == batch.front().begun && row.parked == batch.front().parked;
    if (!same || batch.size() == look->asked.rows_max) break;
    batch.push_back(row);
  }
  if (batch.empty() || stage_.sabotaged(Sabotage::due_overtaken)) return look_on(look);
  at_server(latency(), look, [this, look, batch] { hand_over_again(look, batch); });
}

void Relay::hand_over_again(const LookPtr& look, const std::vector<AsideStore::Row>& batch) {
  look->round = {};
  look->looked = true;
  look->round.redriven = batch.front().parked;
  for (const auto& due : batch) {
    const auto row = server_.table().row(due.position.id);
    if (!row) break;
    const auto& cursor = look->asked.after;
    const bool late = cursor && !core::comes_after(position_of(*row), *cursor, stage_.setup.order);
    if (!due.parked && due.late && !late) {  // it was given a new place
      server_.cursors().forget_due(due.position.id);
      continue;
    }
    add(look->round, *row, *look);
    if (look->round.unreadable) break;
    look->round.records.back().late = due.parked || late;
  }
  nothing_in(look->round) ? look_on(look) : answer(look);
}

/// If late rows are delivered, every batch goes out from what is aside.
void Relay::choose(const Look& look) {
  auto& session = *look.backend;
  session.batch.reset();
  if (!look.round.redriven && stage_.setup.lookback == 0) return;
  session.batch = DueBatch{look.round.redriven, {}};
  for (const auto& record : look.round.records) {
    session.batch->rows.push_back({record.position, record.key, record.late});
  }
}

// --- late rows, delivered ------------------------------------------------------------------------

void Relay::look_for_late_rows(const LookPtr& look) {
  auto& session = *look->backend;
  const auto& cursor = look->asked.after;
  look->looked = true;
  if (!cursor) return answer(look);
  look->window_start = server_.cursors().window_start(session, *cursor);
  const bool idle = nothing_in(look->round);
  if (!idle && !session.found && stage_.now() < session.next_look) return answer(look);
  const auto took = latency();
  at_server(took, look, [this, look, took] { find_late_rows(look, took); });
}

void Relay::find_late_rows(const LookPtr& look, Micros took) {
  auto& session = *look->backend;
  const auto& cursor = *look->asked.after;
  const auto range = server_.cursors().ledger().since(look->window_start, cursor);
  std::vector<std::string> ids;
  for (const auto& row : server_.cursors().late_rows(range, look->asked.rows_max)) {
    ids.push_back(std::to_string(row.id));
  }
  const bool complete = ids.size() < look->asked.rows_max;
  session.next_look = stage_.now() + (complete ? look_duty_cycle * took : 0);
  session.found = !ids.empty();
  if (ids.empty()) {
    session.looked_at = cursor.created_at_us;
    return answer(look);
  }
  if (complete || stage_.sabotaged(Sabotage::late_row_forgotten)) {
    session.looked_at_soon = cursor.created_at_us;
  }
  at_server(latency(), look, [this, look, ids, complete] {
    Round late;
    for (const auto& id : ids) {
      if (late.unreadable) break;
      if (const auto row = server_.table().row(id)) add(late, *row, *look);
    }
    go_before(look->round, std::move(late), complete, look->asked.rows_max);
    answer(look);
  });
}

/// Late rows, and as many of the others as there is room for behind the last of them.
void Relay::go_before(Round& round, Round late, bool all, unsigned rows_max) const {
  if (nothing_in(late)) return;
  const bool others_wait = !all || late.unreadable;
  const auto room = others_wait ? 0 : rows_max - late.records.size();
  if (room < round.records.size()) {
    round.records.resize(room);
    round.unreadable.reset();
  }
  if (others_wait) round.unreadable = std::move(late.unreadable);
  round.records.insert(round.records.begin(), late.records.begin(), late.records.end());
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
std::size_t Relay::rows_ahead() const {
  const auto& session = *backend_;
  const bool plain = stage_.setup.lookback == 0 && !session.any_aside;
  return plain && session.ahead && session.ahead->done ? session.ahead->round.records.size() : 0;
}

// --- rows that come with a commit ----------------------------------------------------------------

/// Where a poll would begin with the rows.
void Relay::ask_behind(Backend& session, const Position& cursor) const {
  const auto& setup = stage_.setup;
  const bool rows_come_first = setup.lookback == 0 && !session.any_aside;
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
  answer(look);
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

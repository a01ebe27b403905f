#include "simulation/cursor_store.hpp"

#include <algorithm>

#include "core/lane.hpp"

namespace seriatim::simulation {

using std::chrono::milliseconds;

namespace {

Micros micros(milliseconds time) {
  return std::chrono::microseconds(time).count();
}

std::int64_t id_of(const Position& position) {
  return std::stoll(position.id);
}

std::vector<std::int64_t> ids_of(const std::vector<Position>& rows) {
  std::vector<std::int64_t> ids;
  for (const auto& row : rows) ids.push_back(id_of(row));
  return ids;
}

std::vector<std::int64_t> ids_of(const std::vector<CursorStore::Passed>& passed) {
  std::vector<std::int64_t> ids;
  for (const auto& [row, late] : passed) ids.push_back(id_of(row));
  return ids;
}

bool is_active(Cursor::State state) {
  return state == Cursor::State::running || state == Cursor::State::retrying;
}

}  // namespace

// --- claim and release ---------------------------------------------------------------------------

Claim CursorStore::claim(const BackendPtr& by, std::uint64_t known_epoch) {
  // A late claim of a session that was given up must not take the lane from the next one.
  const bool of_before = holder_ == by->holder && known_epoch != cursor_.epoch;
  if (!is_free_for(*by) || of_before) {
    watch(*by->watch);
    return {false, row(), holder_, false};
  }
  const bool joins = holder_ == by->holder && !by->joined;
  if (holder_ != by->holder) take_over(by);
  if (joins) new_epoch();
  by->joined = true;
  holder_backend_ = by;
  call_epoch_.reset();
  renew_lease(stage_.setup.config.lease);
  unwaited_.reset();
  return {true, row(), holder_, !aside_.empty(), {}, joins};
}

/// Nobody's, ours, or its holder's backend or lease is gone.
bool CursorStore::is_free_for(const Backend& by) const {
  if (stage_.sabotaged(Sabotage::held_lane_granted)) return true;
  return holder_.empty() || holder_ == by.holder || holder_is_gone(*by.watch);
}

bool CursorStore::holder_is_gone(const LeaseWatch& seen) const {
  const auto backend = holder_backend_.lock();
  return !backend || !backend->alive || lease_has_passed(seen);
}

/// Who asks has seen the same epoch and lease for the lease's length on its own clock.
bool CursorStore::lease_has_passed(const LeaseWatch& seen) const {
  if (table_.clock() <= lease_until_) return false;
  if (stage_.sabotaged(Sabotage::server_clock_alone)) return true;
  return seen.epoch == cursor_.epoch && seen.lease == lease_until_ &&
         stage_.now() - seen.since > micros(lease_length_);
}

void CursorStore::renew_lease(milliseconds time) {
  lease_length_ = time;
  lease_until_ = table_.clock() + micros(time);
}

/// Until it is settled the lease covers the call.
void CursorStore::announce(const Backend& by, std::uint64_t epoch, std::size_t rows) {
  const auto& config = stage_.setup.config;
  handed_to_ = std::max(handed_to_, cursor_.sequence + rows);
  call_epoch_ = cursor_.epoch;
  const bool covers = !stage_.sabotaged(Sabotage::lease_too_short);
  renew_lease(covers ? core::Lane::call_lease(config) : config.lease);
  stage_.evidence.announcements.push_back({stage_.now(), by.relay, epoch});
}

bool CursorStore::is_in_call(LeaseWatch& seen) const {
  watch(seen);
  return call_epoch_ == cursor_.epoch && !holder_.empty() && !holder_is_gone(seen);
}

void CursorStore::hold(Micros time) {
  end_hold();
  hold_until_ = table_.clock() + time;
  stage_.evidence.holds.push_back({stage_.now(), stage_.now() + time});
}

void CursorStore::end_hold() {
  hold_until_ = order_key_min;
  auto& holds = stage_.evidence.holds;
  if (!holds.empty()) holds.back().until = std::min(holds.back().until, stage_.now());
}

bool CursorStore::is_held() const {
  return table_.clock() < hold_until_ && !stage_.sabotaged(Sabotage::hold_ignored);
}

void CursorStore::watch(LeaseWatch& seen) const {
  const bool same = seen.epoch == cursor_.epoch && seen.lease == lease_until_;
  if (!same) seen = {cursor_.epoch, lease_until_, stage_.now()};
}

bool CursorStore::seems_free() const {
  const auto backend = holder_backend_.lock();
  const bool alive = backend && backend->alive && table_.clock() <= lease_until_;
  return holder_.empty() || !alive;
}

void CursorStore::take_over(const BackendPtr& by) {
  const bool in_flight = cursor_.state == Cursor::State::running && cursor_.attempts > 0;
  if (in_flight && !holder_.empty()) {
    cursor_.crashes += 1;
    cursor_.state = Cursor::State::retrying;
    retry_at_ = stage_.now();
  }
  cursor_.epoch += 1;
  holder_ = by->holder;
  stage_.evidence.take_overs.push_back({{cursor_.epoch, stage_.now()}, by->relay});
  stage_.trace(stage_.now(), "cursor",
               [&] { return holder_ + " takes over, epoch " + std::to_string(cursor_.epoch); });
}

void CursorStore::release(const Backend& by, std::uint64_t epoch, bool untouched) {
  if (cursor_.epoch != epoch || holder_ != by.holder) return;
  if (untouched && cursor_.attempts > 0) cursor_.attempts -= 1;
  holder_.clear();
  call_epoch_.reset();
  unwaited_.reset();
  stage_.evidence.releases.push_back(stage_.now());
}

// --- one call, one commit ------------------------------------------------------------------------

bool CursorStore::is_ours(std::uint64_t epoch) const {
  return epoch == cursor_.epoch || stage_.sabotaged(Sabotage::no_epoch_check);
}

Grant CursorStore::start(const Backend& by, std::uint64_t epoch, const Start& start,
                         const Batch& batch) {
  const bool as_expected =
      cursor_.position == start.from || stage_.sabotaged(Sabotage::cursor_not_reread);
  if (!is_ours(epoch) || !as_expected || !is_active(cursor_.state)) return Grant::lost;
  if (is_held()) {
    call_epoch_.reset();  // of a call that was announced and not begun in time
    return Grant::held;
  }
  commit_start(start, batch);
  if (!start.again) cursor_.attempts += 1;
  cursor_.state = Cursor::State::running;
  if (batch.planned) aside_.begin(batch);
  if (batch.looked_at) check_up_to(*batch.looked_at);
  announce(by, epoch, start.rows);
  return Grant::ours;
}

/// As start_attempt.sql: never past the cursor, which may have been taken back.
void CursorStore::check_up_to(OrderKey given) {
  const auto here =
      cursor_.position ? std::optional(cursor_.position->created_at_us) : std::nullopt;
  const auto known = given != order_key_min ? std::optional(given) : looked_at_ ? looked_at_ : here;
  const bool clamped = !stage_.sabotaged(Sabotage::window_past_cursor);
  looked_at_ = clamped && here && known ? std::min(*known, *here) : known;
}

/// Waited for where a row read may still be lost, and where what it writes must not be.
void CursorStore::commit_start(const Start& start, const Batch& batch) {
  const bool may_be_lost =
      !batch.planned && (start.may_be_lost || stage_.sabotaged(Sabotage::start_forgets_parked));
  const auto read_up_to =
      batch.durable_after ? std::stoull(*batch.durable_after) : table_.wal.written;
  const bool rows_durable =
      table_.wal.flushed >= read_up_to || stage_.sabotaged(Sabotage::no_durability_commit);
  const bool waits = !may_be_lost || !rows_durable;
  Before before{0, cursor_, handed_to_, retry_at_, call_epoch_, lease_until_, lease_length_};
  before.lsn = table_.wal.commit(waits);
  if (unwaited_ && unwaited_->lsn <= table_.wal.flushed) unwaited_.reset();
  if (!waits && !unwaited_) unwaited_ = std::move(before);
}

void CursorStore::server_crashed() {
  const auto before = std::exchange(unwaited_, std::nullopt);
  if (!before || before->lsn <= table_.wal.flushed) return;
  cursor_ = before->cursor;
  handed_to_ = before->handed_to;
  retry_at_ = before->retry_at;
  call_epoch_ = before->call_epoch;
  lease_until_ = before->lease_until;
  lease_length_ = before->lease_length;
  stage_.evidence.start_undone = stage_.now();
  stage_.trace(stage_.now(), "cursor", [&] { return std::string("a start is undone"); });
}

SettleAnswer CursorStore::settle(const Backend& by, std::uint64_t epoch,
                                 const Settlement& settlement, const Batch& batch) {
  SettleAnswer answer;
  const bool as_expected =
      cursor_.position == settlement.from || stage_.sabotaged(Sabotage::cursor_not_reread);
  if (!is_ours(epoch) || !as_expected || !is_active(cursor_.state)) return answer;
  const bool goes_on = !is_held();
  call_epoch_.reset();
  renew_lease(stage_.setup.config.lease);
  move(epoch, settlement, batch, answer);
  if (settlement.in_flight) keep(*settlement.in_flight, epoch);
  const bool searched = settlement.in_flight && !settlement.in_flight->late_rows_left;
  if (searched && batch.looked_at) check_up_to(*batch.looked_at);
  if (const auto* retry = std::get_if<Retry>(&settlement.fate)) suffer(*retry);
  if (const auto* halt = std::get_if<Halt>(&settlement.fate)) suffer(*halt);
  const auto* next = std::get_if<Next>(&settlement.fate);
  if (next && goes_on) {
    cursor_.attempts = 1;
    announce(by, epoch, next->rows);
  }
  const bool calls = settlement.in_flight && settlement.in_flight->calls;
  if (calls && goes_on) announce(by, epoch, 0);
  if (calls && !goes_on) {  // those in flight go on
    call_epoch_ = cursor_.epoch;
    renew_lease(core::Lane::call_lease(stage_.setup.config));
  }
  const bool starts_next = next && goes_on && next->read_ahead;
  table_.wal.commit(!starts_next || !stage_.sabotaged(Sabotage::next_not_durable));
  unwaited_.reset();
  answer.grant = (next || calls) && !goes_on ? Grant::held : Grant::ours;
  answer.position = cursor_.position;
  return answer;
}

namespace {

/// In their order, those that queue among the others.
std::vector<CursorStore::Passed> passed_by(const Settlement& settlement, const Batch& batch) {
  std::vector<CursorStore::Passed> passed;
  auto queued = settlement.queued.begin();
  for (std::size_t i = 0; i <= settlement.done.size(); ++i) {
    for (; queued != settlement.queued.end() && queued->before == i; ++queued) {
      passed.push_back({queued->position, queued->late});
    }
    if (i == settlement.done.size()) break;
    const auto& row = settlement.done[i];
    passed.push_back({row, batch.late.contains(row.id)});
  }
  if (const auto* park = std::get_if<Park>(&settlement.fate)) {
    passed.push_back({park->row, park->late});
  }
  return passed;
}

}  // namespace

void CursorStore::move(std::uint64_t epoch, const Settlement& settlement, const Batch& batch,
                       SettleAnswer& answer) {
  const auto passed = passed_by(settlement, batch);
  const auto unused = settlement.unused + settlement.put_back();
  const auto& again = settlement.done_aside;
  const bool moves = !passed.empty() || !again.empty() || unused > 0;
  const auto* park = std::get_if<Park>(&settlement.fate);
  const bool reuses = park && stage_.sabotaged(Sabotage::park_keeps_sequence);
  Evidence::Move move{
      .by = Evidence::Move::By::holder,
      .at = stage_.now(),
      .from = cursor_.position,
      .to = cursor_.position,
      .sequence_before = cursor_.sequence,
      .sequence = cursor_.sequence + passed.size() + again.size() + unused - (reuses ? 1 : 0),
      .mover_epoch = epoch,
      .row_epoch = cursor_.epoch,
      .done = {},
      .back = false,
      .unused = unused};
  for (const auto& [row, late] : passed) {
    if (!late || stage_.sabotaged(Sabotage::late_delivery_moves_cursor)) move.to = row;
  }
  const bool noted = !batch.redriven || stage_.sabotaged(Sabotage::parked_noted_again);
  if (noted) move.done = ids_of(passed);
  if (batch.redriven) move.redriven = ids_of(passed);
  for (const auto& row : again) move.redriven.push_back(id_of(row));
  const auto held = static_cast<int>(aside_.held());
  const auto parked = static_cast<int>(aside_.heads()) - held;
  const auto set_aside = [&](const Park& row) {
    if (aside_.park(row, epoch)) answer.parked_keys.insert(row.key);
  };
  for (const auto& row : settlement.parks) {
    if (!row.redriven) set_aside(row);
  }
  answer.makes_due = aside_.queue(settlement.queued, epoch);
  answer.ended_keys = aside_.take(batch.planned ? settlement.done : again);
  answer.makes_due = answer.makes_due || !again.empty();
  for (const auto& row : settlement.parks) {
    if (row.redriven) set_aside(row);
  }
  const auto attempts = settlement.done.empty() ? cursor_.attempts : 1;
  cursor_.position = move.to;
  if (park) set_aside(*park);
  answer.held_keys = static_cast<int>(aside_.held()) - held;
  answer.parked = static_cast<int>(aside_.heads() - aside_.held()) - parked;
  if (!moves) return;
  write_down(std::move(move));
  begin_anew();
  cursor_.attempts = settlement.failed() && !park ? attempts : 0;
  if (noted && !passed.empty()) note(passed);
}

/// What is said of rows after the cursor.
void CursorStore::keep(const InFlight& in_flight, std::uint64_t epoch) {
  for (const auto& id : in_flight.ahead.done) {
    const auto& before = cursor_.ahead.done;
    const auto& aside = in_flight.ahead.set_aside;
    const bool known = std::find(before.begin(), before.end(), id) != before.end();
    if (known || std::find(aside.begin(), aside.end(), id) != aside.end()) continue;
    stage_.evidence.kept.push_back({stage_.now(), std::stoll(id), epoch});
  }
  cursor_.ahead = in_flight.ahead;
  cursor_.attempts = in_flight.attempts;
  cursor_.state = Cursor::State::running;
  handed_to_ = std::max(handed_to_, in_flight.ahead.numbered_to);
}

void CursorStore::note(const std::vector<Passed>& passed) {
  const auto cursor = *cursor_.position;
  std::vector<Position> done;
  for (const auto& [row, late] : passed) {
    if (!late) {
      done.push_back(row);
    } else if (!stage_.sabotaged(Sabotage::late_delivery_not_noted)) {
      ledger_.note_late(row);
    }
  }
  if (!stage_.sabotaged(Sabotage::ledger_after_commit)) return ledger_.note(done, cursor);
  stage_.scheduler.after(millisecond, [this, done, cursor, by = holder_backend_.lock()] {
    if (by && by->alive) ledger_.note(done, cursor);
  });
}

void CursorStore::new_epoch() {
  cursor_.epoch += 1;
  stage_.evidence.take_overs.push_back({{cursor_.epoch, stage_.now()}, 0});
}

void CursorStore::write_down(Evidence::Move move) {
  cursor_.sequence = move.sequence;
  stage_.trace(stage_.now(), "cursor", [&] {
    return "moves to " + (move.to ? move.to->id : "the start") + ", sequence " +
           std::to_string(move.sequence) + ", epoch " + std::to_string(move.mover_epoch);
  });
  stage_.evidence.moves.push_back(std::move(move));
}

/// Nothing is known of the row after the cursor.
void CursorStore::begin_anew() {
  Cursor fresh;
  fresh.position = cursor_.position;
  fresh.sequence = cursor_.sequence;
  fresh.epoch = cursor_.epoch;
  fresh.ahead = cursor_.ahead;
  cursor_ = fresh;
}

// --- failures ------------------------------------------------------------------------------------

void CursorStore::suffer(const Failure& failure) {
  cursor_.row_id = failure.row_id.empty() ? std::nullopt : std::optional(failure.row_id);
  cursor_.detail = failure.detail;
}

void CursorStore::suffer(const Retry& retry) {
  suffer(retry.failure);
  cursor_.state = Cursor::State::retrying;
  retry_at_ = stage_.now() + micros(retry.delay);
}

void CursorStore::suffer(const Halt& halt) {
  const auto& [row_id, detail] = halt.failure;
  suffer(halt.failure);
  cursor_.state = Cursor::State::halted;
  cursor_.reason = halt.reason;
  stage_.evidence.halts.push_back({stage_.now(), halt.reason, row_id});
  stage_.trace(stage_.now(), "cursor", [&, id = row_id, said = detail] {
    return std::string("halts: ") + seriatim::to_string(halt.reason) + " at " + id + ": " + said;
  });
}

// --- what operators see and do -------------------------------------------------------------------

Cursor CursorStore::row() const {
  auto cursor = cursor_;
  cursor.parked = aside_.heads() - aside_.held();
  cursor.held_keys = aside_.held();
  cursor.held = is_held();
  cursor.handed_to = handed_to_;
  if (cursor.state == Cursor::State::retrying) {
    const auto left = std::max<Micros>(retry_at_ - stage_.now(), 0);
    cursor.retry_in = std::chrono::ceil<milliseconds>(std::chrono::microseconds(left));
  }
  return cursor;
}

void CursorStore::set_state(Cursor::State state) {
  cursor_.state = state;
  cursor_.crashes = 0;
  unwaited_.reset();
}

// --- acts on rows: whatever a holder was about to do is refused ----------------------------------

void CursorStore::skip(const Position& row) {
  stage_.evidence.skips.push_back({stage_.now(), id_of(row)});
  act(Evidence::Move::By::skip, row, {row}, cursor_.sequence + 1);
  ledger_.note({row}, row);
}

void CursorStore::skip_late(const Position& row) {
  const auto to = stage_.sabotaged(Sabotage::late_row_moves_cursor) ? row : *cursor_.position;
  stage_.evidence.skips.push_back({stage_.now(), id_of(row)});
  act(Evidence::Move::By::skip, to, {row}, cursor_.sequence + 1);
  if (!stage_.sabotaged(Sabotage::late_row_not_noted)) ledger_.note_late(row);
}

void CursorStore::jump(const Position& to) {
  std::vector<Position> passed;
  for (const auto& row : table_.rows_between(cursor_.position, to)) {
    passed.push_back(position_of(row));
  }
  const auto from = cursor_.position;
  aside_.forget_between(from, to);
  act(Evidence::Move::By::rewind, to, passed, cursor_.sequence + passed.size());
  if (!stage_.sabotaged(Sabotage::jump_not_noted)) ledger_.jump(passed, from);
}

void CursorStore::go_back(const std::optional<Position>& to) {
  const auto again = table_.rows_between(to, *cursor_.position).size();
  act(Evidence::Move::By::rewind, to, {},
      cursor_.sequence - std::min<std::uint64_t>(cursor_.sequence, again));
  cursor_.ahead.numbered_to = stage_.setup.config.in_flight > 1 ? handed_to_ : 0;
  ledger_.cut(to);
  aside_.forget_after(to);
}

void CursorStore::act(Evidence::Move::By by, const std::optional<Position>& to,
                      const std::vector<Position>& done, std::uint64_t sequence) {
  write_down({.by = by,
              .at = stage_.now(),
              .from = cursor_.position,
              .to = to,
              .sequence_before = cursor_.sequence,
              .sequence = sequence,
              .mover_epoch = cursor_.epoch,
              .row_epoch = cursor_.epoch,
              .done = ids_of(done),
              .back = by == Evidence::Move::By::rewind && done.empty()});
  for (const auto& row : done) aside_.skip(row.id);
  if (by == Evidence::Move::By::rewind) {
    if (!stage_.sabotaged(Sabotage::plan_outlives_rewind)) aside_.forget_batch();
    looked_at_ = to ? std::optional(to->created_at_us) : std::nullopt;
  }
  const bool paused = cursor_.state == Cursor::State::paused;
  cursor_.position = to;
  begin_anew();
  if (by == Evidence::Move::By::rewind && done.empty()) cursor_.ahead = {};
  if (paused) cursor_.state = Cursor::State::paused;
  table_.wal.commit(true);
  if (by == Evidence::Move::By::rewind && stage_.sabotaged(Sabotage::rewind_keeps_epoch)) return;
  new_epoch();
}

}  // namespace seriatim::simulation

#include "simulation/cursor_store.hpp"

#include <algorithm>

namespace seriatim::simulation {

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

bool Backend::is_late(const std::string& id) const {
  if (!batch) return false;
  const auto row = std::find_if(batch->rows.begin(), batch->rows.end(),
                                [&](const DueRow& due) { return due.position.id == id; });
  return row != batch->rows.end() && row->late;
}

// --- claim and release ---------------------------------------------------------------------------

Claim CursorStore::claim(const BackendPtr& by) {
  unlock(*by);
  if (!is_free_for(*by)) return {false, row(), holder_, false};
  if (holder_ != by->holder) take_over(by);
  holder_backend_ = by;
  lease_until_ = stage_.now() + micros(stage_.setup.config.lease);
  unwaited_.reset();
  version_ += 1;
  return {true, row(), holder_, !aside_.empty()};
}

/// Nobody's, ours, or its holder's backend or lease is gone. SKIP LOCKED: never while locked.
bool CursorStore::is_free_for(const Backend& by) const {
  if (locked_by_ != nullptr) return false;
  const auto backend = holder_backend_.lock();
  const bool gone = !backend || !backend->alive || stage_.now() > lease_until_;
  if (stage_.sabotaged(Sabotage::held_lane_granted)) return true;
  return holder_.empty() || holder_ == by.holder || gone;
}

bool CursorStore::looks_free() const {
  const auto backend = holder_backend_.lock();
  const bool alive =
      backend && backend->alive && (stage_.now() <= lease_until_ || locked_by_ == backend.get());
  return holder_.empty() || !alive;
}

void CursorStore::take_over(const BackendPtr& by) {
  const bool in_hand = cursor_.state == Cursor::State::running && cursor_.attempts > 0;
  if (in_hand && !holder_.empty()) {
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
  unlock(by);
  if (cursor_.epoch != epoch || holder_ != by.holder || locked_by_ != nullptr) return;
  if (untouched && cursor_.attempts > 0) cursor_.attempts -= 1;
  holder_.clear();
  unwaited_.reset();
  version_ += 1;
  stage_.evidence.releases.push_back(stage_.now());
}

// --- one call, one commit ------------------------------------------------------------------------

bool CursorStore::is_ours(const Backend& by, std::uint64_t epoch) const {
  if (locked_by_ != nullptr && locked_by_ != &by) return false;
  return is_active(cursor_.state) &&
         (epoch == cursor_.epoch || stage_.sabotaged(Sabotage::no_epoch_check));
}

bool CursorStore::start(Backend& by, std::uint64_t epoch, bool again) {
  const bool as_chosen =
      !by.batch || by.batch->version == version_ || stage_.sabotaged(Sabotage::plan_not_compared);
  if (!is_ours(by, epoch) || !as_chosen) return false;
  commit_start(by);
  if (!again) cursor_.attempts += 1;
  cursor_.state = Cursor::State::running;
  if (by.batch) aside_.begin(*by.batch);
  if (by.batch && !by.batch->redriven) {
    if (by.looked_at_soon) by.looked_at = std::exchange(by.looked_at_soon, std::nullopt);
    const auto here = cursor_.position ? cursor_.position->created_at_us : mark_max;
    const bool clamped = !stage_.sabotaged(Sabotage::window_past_cursor);
    if (by.looked_at) looked_at_ = clamped ? std::min(*by.looked_at, here) : *by.looked_at;
    if (!looked_at_ && cursor_.position) looked_at_ = here;
    by.found = false;
  }
  hand_over(by);
  version_ += 1;
  by.locked_ahead = !by.batch && lock(by, epoch, by.polled_after);
  return true;
}

/// Waited for where a row read may still be lost, and where what it writes must not be.
void CursorStore::commit_start(const Backend& by) {
  const bool aside = by.any_aside && !stage_.sabotaged(Sabotage::start_forgets_parked);
  const bool may_be_lost = !by.batch && !aside;
  const bool rows_durable = table_.wal.flushed >= by.written.value_or(table_.wal.written) ||
                            stage_.sabotaged(Sabotage::no_durability_commit);
  const bool waits = !may_be_lost || !rows_durable;
  Before before{0, cursor_, handed_to_, retry_at_};
  before.lsn = table_.wal.commit(waits);
  if (unwaited_ && unwaited_->lsn <= table_.wal.flushed) unwaited_.reset();
  if (!waits && !unwaited_) unwaited_ = std::move(before);
}

void CursorStore::server_crashed() {
  const auto before = std::exchange(unwaited_, std::nullopt);
  if (!before || before->lsn <= table_.wal.flushed) return;
  cursor_ = before->cursor;
  handed_to_ = before->handed_to;
  version_ += 1;
  retry_at_ = before->retry_at;
  stage_.trace(stage_.now(), "cursor", [&] { return std::string("a start is undone"); });
}

bool CursorStore::lock(Backend& by, std::uint64_t epoch, const std::optional<Position>& expected) {
  unlock(by);
  const bool as_expected =
      cursor_.position == expected || stage_.sabotaged(Sabotage::cursor_not_reread);
  if (!is_ours(by, epoch) || !as_expected) return false;
  if (!stage_.sabotaged(Sabotage::no_lock)) locked_by_ = &by;
  by.locks_taken += 1;
  stage_.evidence.locks.push_back({stage_.now(), by.relay, epoch});
  return true;
}

bool CursorStore::advance(Backend& by, std::uint64_t epoch, const Advance& advance) {
  const bool as_expected =
      cursor_.position == advance.from || stage_.sabotaged(Sabotage::cursor_not_reread);
  const bool ours = is_ours(by, epoch) && as_expected;
  unlock(by);
  if (!ours) return false;
  const auto passed = passed_by(by, advance);
  Evidence::Move move{.by = Evidence::Move::By::holder,
                      .at = stage_.now(),
                      .from = cursor_.position,
                      .to = cursor_.position,
                      .sequence_before = cursor_.sequence,
                      .sequence = cursor_.sequence + passed.size(),
                      .mover_epoch = epoch,
                      .row_epoch = cursor_.epoch,
                      .done = {},
                      .back = false};
  for (const auto& [row, late] : passed) {
    if (!late || stage_.sabotaged(Sabotage::late_delivery_moves_cursor)) move.to = row;
  }
  const bool noted = !by.redriving() || stage_.sabotaged(Sabotage::parked_noted_again);
  if (noted) move.done = ids_of(passed);
  if (by.redriving()) move.redriven = ids_of(passed);
  if (by.batch) {
    for (const auto& key : aside_.take(advance.done)) by.parked_keys.erase(key);
  }
  aside_.queue(advance.queued, epoch);
  cursor_.position = move.to;
  write_down(std::move(move));
  begin_anew();
  cursor_.attempts = advance.next_started ? 1 : 0;
  if (noted) note(passed);
  by.records_left -= std::min(by.records_left, advance.done.size());
  by.queued_left -= std::min(by.queued_left, advance.queued.size());
  if (advance.starts_next) by.records_left = by.ahead->round.records.size();
  if (advance.next_started) hand_over(by);
  table_.wal.commit(!advance.starts_next || !stage_.sabotaged(Sabotage::next_not_durable));
  unwaited_.reset();
  by.next_starts = advance.starts_next;
  by.locked_ahead = advance.goes_on && lock(by, epoch, cursor_.position);
  return true;
}

void CursorStore::take_back(Backend& by) {
  const auto sent = std::exchange(by.sent, std::nullopt);
  if (stage_.sabotaged(Sabotage::sent_not_taken_back)) advance(by, cursor_.epoch, *sent);
  unlock(by);
  holder_waits_ = !stage_.sabotaged(Sabotage::act_gives_no_way);
}

/// The next call of the round in hand begins.
void CursorStore::hand_over(const Backend& by) {
  const auto rows = std::min<std::size_t>(stage_.setup.config.commit_every, by.records_left);
  handed_to_ = std::max(handed_to_, cursor_.sequence + rows + by.queued_left);
}

/// In their order, those that queue among the others.
std::vector<CursorStore::Passed> CursorStore::passed_by(const Backend& by,
                                                        const Advance& advance) const {
  std::vector<Passed> passed;
  auto queued = advance.queued.begin();
  for (std::size_t i = 0; i <= advance.done.size(); ++i) {
    for (; queued != advance.queued.end() && queued->before == i; ++queued) {
      passed.push_back({queued->position, queued->late});
    }
    if (i == advance.done.size()) break;
    const auto& row = advance.done[i];
    passed.push_back({row, by.is_late(row.id)});
  }
  return passed;
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

// --- rows set aside ------------------------------------------------------------------------------

/// In a transaction of its own.
bool CursorStore::park(Backend& by, std::uint64_t epoch, const Parking& parking) {
  unlock(by);
  if (!is_ours(by, epoch) || cursor_.position != parking.from) return false;
  const auto& row = parking.row;
  const bool again = by.redriving();
  const auto to = parking.late ? *parking.from : row;
  const auto used = stage_.sabotaged(Sabotage::park_keeps_sequence) ? 0U : 1U;
  Evidence::Move move{.by = Evidence::Move::By::holder,
                      .at = stage_.now(),
                      .from = cursor_.position,
                      .to = to,
                      .sequence_before = cursor_.sequence,
                      .sequence = cursor_.sequence + used,
                      .mover_epoch = epoch,
                      .row_epoch = cursor_.epoch,
                      .done = {},
                      .back = false};
  if (again) {
    move.redriven = {id_of(row)};
  } else {
    move.done = {id_of(row)};
    parking.late ? ledger_.note_late(row) : ledger_.note({row}, to);
  }
  by.any_aside = true;
  if (aside_.park(parking, epoch)) by.parked_keys.insert(parking.key);
  cursor_.position = to;
  write_down(std::move(move));
  begin_anew();
  table_.wal.commit(true);
  return true;
}

CursorStore::DueRows CursorStore::due_rows() const {
  return {version_, cursor_.sequence, handed_to_, aside_.due()};
}

void CursorStore::redrive(const ParkedChoice& choice) {
  aside_.redrive(choice);
  table_.wal.commit(true);
  new_epoch();
}

/// A lane that stands at one of them goes on; those that were begun keep their numbers.
void CursorStore::discard(const ParkedChoice& choice) {
  const auto gone = aside_.discard(choice);
  const bool failed =
      cursor_.state == Cursor::State::halted || cursor_.state == Cursor::State::retrying;
  const bool stands = failed && std::any_of(gone.begin(), gone.end(), [&](const auto& row) {
                        return row.position.id == cursor_.row_id;
                      });
  std::vector<std::int64_t> begun;
  for (const auto& row : gone) {
    if (row.begun) begun.push_back(id_of(row.position));
  }
  if (!begun.empty() && !stage_.sabotaged(Sabotage::discard_keeps_sequence)) {
    write_down({.by = Evidence::Move::By::discard,
                .at = stage_.now(),
                .from = cursor_.position,
                .to = cursor_.position,
                .sequence_before = cursor_.sequence,
                .sequence = cursor_.sequence + begun.size(),
                .mover_epoch = cursor_.epoch,
                .row_epoch = cursor_.epoch,
                .done = {},
                .back = false,
                .redriven = begun});
    cursor_.attempts = cursor_.crashes = 0;
  }
  if (stands) begin_anew();
  table_.wal.commit(true);
  if (!stage_.sabotaged(Sabotage::discard_keeps_epoch)) new_epoch();
}

void CursorStore::new_epoch() {
  version_ += 1;
  cursor_.epoch += 1;
  stage_.evidence.take_overs.push_back({{cursor_.epoch, stage_.now()}, 0});
}

void CursorStore::write_down(Evidence::Move move) {
  version_ += 1;
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
  cursor_ = fresh;
}

// --- failures ------------------------------------------------------------------------------------

bool CursorStore::note(const Backend& by, std::uint64_t epoch, const Failure& failure) {
  const bool ours = is_ours(by, epoch);
  unlock(by);
  if (!ours) return false;
  cursor_.row_id = failure.row_id.empty() ? std::nullopt : std::optional(failure.row_id);
  cursor_.detail = failure.detail;
  version_ += 1;
  table_.wal.commit(true);
  return true;
}

bool CursorStore::note_retry(const Backend& by, std::uint64_t epoch, const Failure& failure,
                             milliseconds delay) {
  if (!note(by, epoch, failure)) return false;
  cursor_.state = Cursor::State::retrying;
  retry_at_ = stage_.now() + micros(delay);
  return true;
}

bool CursorStore::halt(const Backend& by, std::uint64_t epoch, HaltReason reason,
                       const Failure& failure) {
  if (!note(by, epoch, failure)) return false;
  cursor_.state = Cursor::State::halted;
  cursor_.reason = reason;
  stage_.evidence.halts.push_back({stage_.now(), reason, failure.row_id});
  stage_.trace(stage_.now(), "cursor", [&] {
    return std::string("halts: ") + seriatim::to_string(reason) + " at " + failure.row_id + ": " +
           failure.detail;
  });
  return true;
}

// --- looks, locks, operators ---------------------------------------------------------------------

Cursor CursorStore::look(const Backend& by) {
  unlock(by);
  return row();
}

Cursor CursorStore::row() const {
  auto cursor = cursor_;
  cursor.parked = aside_.heads();
  if (cursor.state == Cursor::State::retrying) {
    const auto left = std::max<Micros>(retry_at_ - stage_.now(), 0);
    cursor.retry_in = std::chrono::ceil<milliseconds>(std::chrono::microseconds(left));
  }
  return cursor;
}

void CursorStore::unlock(const Backend& by) {
  if (locked_by_ == &by) locked_by_ = nullptr;
}

void CursorStore::backend_ended(const Backend& backend) {
  unlock(backend);
}

void CursorStore::set_state(Cursor::State state) {
  cursor_.state = state;
  cursor_.crashes = 0;
  version_ += 1;
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
  act(Evidence::Move::By::rewind, to, passed, cursor_.sequence + passed.size());
  if (!stage_.sabotaged(Sabotage::jump_not_noted)) ledger_.jump(passed, from);
}

void CursorStore::go_back(const std::optional<Position>& to) {
  const auto again = table_.rows_between(to, *cursor_.position).size();
  act(Evidence::Move::By::rewind, to, {},
      cursor_.sequence - std::min<std::uint64_t>(cursor_.sequence, again));
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
  if (paused) cursor_.state = Cursor::State::paused;
  table_.wal.commit(true);
  if (by == Evidence::Move::By::rewind && stage_.sabotaged(Sabotage::rewind_keeps_epoch)) return;
  new_epoch();
}

}  // namespace seriatim::simulation

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
  if (!is_free_for(*by)) {
    watch(*by->watch);
    return {false, row(), holder_, false};
  }
  if (holder_ != by->holder) take_over(by);
  holder_backend_ = by;
  lease_until_ = table_.clock() + micros(stage_.setup.config.lease);
  unwaited_.reset();
  version_ += 1;
  return {true, row(), holder_, !aside_.empty()};
}

/// Nobody's, ours, or its holder's backend or lease is gone. SKIP LOCKED: never while locked.
bool CursorStore::is_free_for(const Backend& by) const {
  if (locked_by_ != nullptr) return false;
  const auto backend = holder_backend_.lock();
  const bool gone = !backend || !backend->alive || lease_has_passed(by);
  if (stage_.sabotaged(Sabotage::held_lane_granted)) return true;
  return holder_.empty() || holder_ == by.holder || gone;
}

/// The claimant has seen the same epoch and lease for the lease's length on its own clock.
bool CursorStore::lease_has_passed(const Backend& by) const {
  if (table_.clock() <= lease_until_) return false;
  if (stage_.sabotaged(Sabotage::server_clock_alone)) return true;
  const auto& seen = *by.watch;
  return seen.epoch == cursor_.epoch && seen.lease == lease_until_ &&
         stage_.now() - seen.since > micros(stage_.setup.config.lease);
}

void CursorStore::watch(LeaseWatch& seen) const {
  const bool same = seen.epoch == cursor_.epoch && seen.lease == lease_until_;
  if (!same) seen = {cursor_.epoch, lease_until_, stage_.now()};
}

bool CursorStore::looks_free() const {
  const auto backend = holder_backend_.lock();
  const bool alive =
      backend && backend->alive && (table_.clock() <= lease_until_ || locked_by_ == backend.get());
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

bool CursorStore::settle(Backend& by, std::uint64_t epoch, const Settlement& settlement) {
  const bool as_expected =
      cursor_.position == settlement.from || stage_.sabotaged(Sabotage::cursor_not_reread);
  const bool ours = is_ours(by, epoch) && as_expected;
  unlock(by);
  if (!ours) return false;
  const auto passed = passed_by(by, settlement);
  if (!passed.empty()) move(by, epoch, settlement, passed);
  if (const auto* retry = std::get_if<Retry>(&settlement.fate)) suffer(*retry);
  if (const auto* halt = std::get_if<Halt>(&settlement.fate)) suffer(*halt);
  if (settlement.next_started()) hand_over(by);
  version_ += 1;
  table_.wal.commit(!settlement.starts_next || !stage_.sabotaged(Sabotage::next_not_durable));
  unwaited_.reset();
  by.next_starts = settlement.starts_next;
  by.locked_ahead = settlement.goes_on && lock(by, epoch, cursor_.position);
  return true;
}

void CursorStore::move(Backend& by, std::uint64_t epoch, const Settlement& settlement,
                       const std::vector<Passed>& passed) {
  const auto* park = std::get_if<Park>(&settlement.fate);
  const bool unused = park && stage_.sabotaged(Sabotage::park_keeps_sequence);
  Evidence::Move move{.by = Evidence::Move::By::holder,
                      .at = stage_.now(),
                      .from = cursor_.position,
                      .to = cursor_.position,
                      .sequence_before = cursor_.sequence,
                      .sequence = cursor_.sequence + passed.size() - (unused ? 1 : 0),
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
    for (const auto& key : aside_.take(settlement.done)) by.parked_keys.erase(key);
  }
  aside_.queue(settlement.queued, epoch);
  const auto attempts = settlement.done.empty() ? cursor_.attempts : 1;
  cursor_.position = move.to;
  if (park) {
    by.any_aside = true;
    if (aside_.park(*park, epoch)) by.parked_keys.insert(park->key);
  }
  write_down(std::move(move));
  begin_anew();
  cursor_.attempts = settlement.failed() && !park ? attempts : 0;
  if (settlement.next_started()) cursor_.attempts = 1;
  if (noted) note(passed);
  by.records_left -= std::min(by.records_left, settlement.done.size());
  by.queued_left -= std::min(by.queued_left, settlement.queued.size());
  if (settlement.starts_next) by.records_left = by.ahead->round.records.size();
}

void CursorStore::take_back(Backend& by) {
  const auto sent = std::exchange(by.sent, std::nullopt);
  if (stage_.sabotaged(Sabotage::sent_not_taken_back)) settle(by, cursor_.epoch, *sent);
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
                                                        const Settlement& settlement) const {
  std::vector<Passed> passed;
  auto queued = settlement.queued.begin();
  for (std::size_t i = 0; i <= settlement.done.size(); ++i) {
    for (; queued != settlement.queued.end() && queued->before == i; ++queued) {
      passed.push_back({queued->position, queued->late});
    }
    if (i == settlement.done.size()) break;
    const auto& row = settlement.done[i];
    passed.push_back({row, by.is_late(row.id)});
  }
  if (const auto* park = std::get_if<Park>(&settlement.fate)) {
    passed.push_back({park->row, park->late});
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
  const auto left = aside_.due();  // those that were begun come first
  const auto goes_out = [&](const AsideStore::Row& row) {
    return !left.empty() && left.front().begun && left.front().number < row.number;
  };
  std::vector<std::int64_t> begun;  // rows behind one that still goes out used no number up
  for (const auto& row : gone) {
    if (row.begun && !goes_out(row)) begun.push_back(id_of(row.position));
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

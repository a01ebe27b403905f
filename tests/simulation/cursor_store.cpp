#include "simulation/cursor_store.hpp"

#include <algorithm>

#include "core/lane.hpp"

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

/// Who looks has seen the same epoch and lease for the lease's length on its own clock.
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
  hold_until_ = mark_min;
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

bool CursorStore::looks_free() const {
  const auto backend = holder_backend_.lock();
  const bool alive = backend && backend->alive && table_.clock() <= lease_until_;
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

Grant CursorStore::start(Backend& by, std::uint64_t epoch, std::size_t rows, bool again) {
  if (!is_ours(epoch) || !is_active(cursor_.state)) return Grant::lost;
  if (is_held()) {
    call_epoch_.reset();  // of a call that was announced and not begun in time
    return Grant::held;
  }
  commit_start(by);
  if (!again) cursor_.attempts += 1;
  cursor_.state = Cursor::State::running;
  if (by.batch) aside_.begin(*by.batch);
  if (by.batch && !by.batch->redriven) {
    if (by.looked_at_soon) by.looked_at = std::exchange(by.looked_at_soon, std::nullopt);
    const auto here = cursor_.position ? cursor_.position->created_at_us
                                       : by.batch->rows.front().position.created_at_us;
    const bool clamped = !stage_.sabotaged(Sabotage::window_past_cursor);
    if (by.looked_at) looked_at_ = clamped ? std::min(*by.looked_at, here) : *by.looked_at;
    if (!looked_at_) looked_at_ = here;  // of the first batch, where it begins
    by.found = false;
  }
  announce(by, epoch, rows);
  return Grant::ours;
}

/// Waited for where a row read may still be lost, and where what it writes must not be.
void CursorStore::commit_start(const Backend& by) {
  const bool aside = by.any_aside && !stage_.sabotaged(Sabotage::start_forgets_parked);
  const bool may_be_lost = !by.batch && !aside;
  const bool rows_durable = table_.wal.flushed >= by.written.value_or(table_.wal.written) ||
                            stage_.sabotaged(Sabotage::no_durability_commit);
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
  stage_.trace(stage_.now(), "cursor", [&] { return std::string("a start is undone"); });
}

Grant CursorStore::settle(Backend& by, std::uint64_t epoch, const Settlement& settlement) {
  const bool as_expected =
      cursor_.position == settlement.from || stage_.sabotaged(Sabotage::cursor_not_reread);
  if (!is_ours(epoch) || !as_expected || !is_active(cursor_.state)) return Grant::lost;
  const bool goes_on = !is_held();
  call_epoch_.reset();
  renew_lease(stage_.setup.config.lease);
  const auto passed = passed_by(by, settlement);
  if (!passed.empty()) move(by, epoch, settlement, passed);
  if (const auto* retry = std::get_if<Retry>(&settlement.fate)) suffer(*retry);
  if (const auto* halt = std::get_if<Halt>(&settlement.fate)) suffer(*halt);
  const auto* next = std::get_if<Next>(&settlement.fate);
  if (next && goes_on) {
    cursor_.attempts = 1;
    announce(by, epoch, next->rows);
    by.announced = next->read_ahead;
  }
  table_.wal.commit(!by.announced || !stage_.sabotaged(Sabotage::next_not_durable));
  unwaited_.reset();
  return next && !goes_on ? Grant::held : Grant::ours;
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
  if (noted) note(passed);
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
  return {cursor_.sequence, handed_to_, aside_.due()};
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
  cursor.parked = aside_.heads();
  cursor.held = is_held();
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

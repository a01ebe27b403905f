#include "simulation/cursor_store.hpp"

#include <algorithm>

namespace seriatim::simulation {

namespace {

Micros micros(milliseconds time) {
  return std::chrono::microseconds(time).count();
}

bool is_active(Cursor::State state) {
  return state == Cursor::State::running || state == Cursor::State::retrying;
}

}  // namespace

// --- claim and release ---------------------------------------------------------------------------

Claim CursorStore::claim(const BackendPtr& by) {
  unlock(*by);
  if (!is_free_for(*by)) return {false, row(), holder_};
  if (holder_ != by->holder) take_over(by);
  holder_backend_ = by;
  lease_until_ = stage_.now() + micros(stage_.setup.config.lease);
  return {true, row(), holder_};
}

/// Nobody's, ours, or its holder's backend or lease is gone. SKIP LOCKED: never while locked.
bool CursorStore::is_free_for(const Backend& by) const {
  if (locked_by_ != nullptr) return false;
  const auto backend = holder_backend_.lock();
  const bool gone = !backend || !backend->alive || stage_.now() > lease_until_;
  return holder_.empty() || holder_ == by.holder || gone;
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
  stage_.evidence.take_overs.push_back({stage_.now(), by->relay, cursor_.epoch});
  stage_.trace(stage_.now(), "cursor",
               [&] { return holder_ + " takes over, epoch " + std::to_string(cursor_.epoch); });
}

void CursorStore::release(const Backend& by, std::uint64_t epoch, bool untouched) {
  unlock(by);
  if (cursor_.epoch != epoch || holder_ != by.holder || locked_by_ != nullptr) return;
  if (untouched && cursor_.attempts > 0) cursor_.attempts -= 1;
  holder_.clear();
  stage_.evidence.releases.push_back(stage_.now());
}

// --- one call, one commit ------------------------------------------------------------------------

bool CursorStore::is_ours(const Backend& by, std::uint64_t epoch) const {
  if (locked_by_ != nullptr && locked_by_ != &by) return false;
  return is_active(cursor_.state) &&
         (epoch == cursor_.epoch || stage_.sabotaged(Sabotage::no_epoch_check));
}

bool CursorStore::start(const Backend& by, std::uint64_t epoch, bool again) {
  if (!is_ours(by, epoch)) return false;
  table_.wal.commit(!stage_.sabotaged(Sabotage::no_durability_commit));
  if (!again) cursor_.attempts += 1;
  cursor_.state = Cursor::State::running;
  return true;
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

bool CursorStore::advance(const Backend& by, std::uint64_t epoch,
                          const std::optional<Position>& from, const std::vector<Position>& done,
                          bool next_started) {
  const bool as_expected =
      cursor_.position == from || stage_.sabotaged(Sabotage::cursor_not_reread);
  const bool ours = is_ours(by, epoch) && as_expected;
  unlock(by);
  if (!ours) return false;
  move_to(done.back(), done.size(), epoch);
  cursor_.attempts = next_started ? 1 : 0;
  table_.wal.commit(true);
  return true;
}

void CursorStore::move_to(const Position& to, std::uint64_t rows, std::uint64_t mover_epoch) {
  Evidence::Move move{
      stage_.now(), std::nullopt, std::stoll(to.id), cursor_.sequence, cursor_.sequence + rows,
      mover_epoch,  cursor_.epoch};
  if (cursor_.position) move.from = std::stoll(cursor_.position->id);
  stage_.evidence.moves.push_back(move);
  stage_.trace(stage_.now(), "cursor", [&] {
    return "moves to " + to.id + ", sequence " + std::to_string(move.sequence) + ", epoch " +
           std::to_string(mover_epoch);
  });
  Cursor moved;
  moved.position = to;
  moved.sequence = move.sequence;
  moved.epoch = cursor_.epoch;
  cursor_ = moved;
}

// --- failures ------------------------------------------------------------------------------------

bool CursorStore::note(const Backend& by, std::uint64_t epoch, const Failure& failure) {
  const bool ours = is_ours(by, epoch);
  unlock(by);
  if (!ours) return false;
  cursor_.row_id = failure.row_id.empty() ? std::nullopt : std::optional(failure.row_id);
  cursor_.detail = failure.detail;
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
}

void CursorStore::skip(const Position& row) {
  stage_.evidence.skips.push_back({stage_.now(), std::stoll(row.id)});
  move_to(row, 1, cursor_.epoch);
  cursor_.epoch += 1;  // whatever a holder was about to do with the row is refused
  stage_.evidence.take_overs.push_back({stage_.now(), 0, cursor_.epoch});
}

}  // namespace seriatim::simulation

// Of the cursor's store: rows set aside, and rows that are late, found by the audit or delivered.
#include <algorithm>

#include "core/fence.hpp"
#include "simulation/cursor_store.hpp"

namespace seriatim::simulation {

// --- rows set aside ------------------------------------------------------------------------------

namespace {

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

DueRows CursorStore::due_rows(std::uint64_t epoch, unsigned rows_max, const DueChoice& choice) {
  DueRows due{handed_to_ > cursor_.sequence, {}};
  const bool may_release = !stage_.sabotaged(Sabotage::held_never_due);
  if (may_release && epoch == cursor_.epoch && aside_.held_for() == 0) {
    aside_.release_held(rows_max);
    table_.wal.commit(true);
  }
  if (const auto left = aside_.held_for()) {
    due.held_for = std::chrono::ceil<std::chrono::milliseconds>(std::chrono::microseconds(*left));
  }
  const bool at_first = !cursor_.position && stage_.sabotaged(Sabotage::plan_not_read_at_first);
  if (at_first || stage_.sabotaged(Sabotage::due_overtaken)) return due;
  auto rows = aside_.due();
  std::stable_partition(rows.begin(), rows.end(), [&](const AsideStore::Row& row) {
    return contains(choice.first, row.position.id);
  });
  for (const auto& row : rows) {
    const bool left_out = (row.holds_key && choice.not_of.contains(row.key)) ||
                          contains(choice.not_these, row.position.id);
    if (left_out) continue;
    const bool begun = row.begun || stage_.sabotaged(Sabotage::redrive_while_open);
    auto& next = due.rows.emplace_back(DueRow{row.position.id, begun, row.parked});
    next.late = row.late;
    next.attempts = row.retry_at ? row.attempts : 0;
    next.holds_key = row.parked && row.holds_key;
    next.key = row.key;
    if (due.rows.size() == rows_max) break;
  }
  return due;
}

/// Numbers under which a receiver may have seen the rows stay unused.
void CursorStore::give_up(std::uint64_t numbers) {
  write_down({.by = Evidence::Move::By::discard,
              .at = stage_.now(),
              .from = cursor_.position,
              .to = cursor_.position,
              .sequence_before = cursor_.sequence,
              .sequence = cursor_.sequence + numbers,
              .mover_epoch = cursor_.epoch,
              .row_epoch = cursor_.epoch,
              .done = {},
              .back = false,
              .unused = numbers});
  cursor_.attempts = cursor_.crashes = 0;
}

/// Rows of a key are put back together, so all of their numbers are given up.
LeftOut CursorStore::leave_out(std::uint64_t epoch, const std::string& id) {
  if (epoch != cursor_.epoch) return LeftOut::refused;
  const auto* parked = aside_.find_parked(id);
  const bool of_a_key = parked != nullptr && parked->holds_key;
  const bool begun = aside_.leave_out(id);
  table_.wal.commit(true);
  const bool several = cursor_.ahead != RowsAhead{};
  if (!begun || several || handed_to_ <= cursor_.sequence) return LeftOut::quietly;
  give_up(of_a_key ? handed_to_ - cursor_.sequence : 1);
  return LeftOut::number_unused;
}

void CursorStore::redrive(const ParkedChoice& choice) {
  aside_.redrive(choice);
  table_.wal.commit(true);
  new_epoch();
}

/// A lane that is at one of them goes on. If one was begun, all that were give up their numbers.
void CursorStore::discard(const ParkedChoice& choice) {
  const auto gone = aside_.discard(choice);
  const bool failed =
      cursor_.state == Cursor::State::halted || cursor_.state == Cursor::State::retrying;
  const bool is_one = failed && std::any_of(gone.begin(), gone.end(), [&](const auto& row) {
                        return row.position.id == cursor_.row_id;
                      });
  const bool begun =
      std::any_of(gone.begin(), gone.end(), [](const auto& row) { return row.begun; });
  if (begun && !stage_.sabotaged(Sabotage::discard_keeps_sequence)) {
    aside_.put_back_begun();
    give_up(std::max(handed_to_, cursor_.sequence + 1) - cursor_.sequence);
  }
  if (is_one) begin_anew();
  table_.wal.commit(true);
  if (!stage_.sabotaged(Sabotage::discard_keeps_epoch)) new_epoch();
}

// --- late rows, delivered ------------------------------------------------------------------------

OrderKey CursorStore::looked_at(const Position& cursor) const {
  const OrderKey here = cursor.created_at_us;
  if (stage_.sabotaged(Sabotage::window_from_cursor)) return here;
  const OrderKey marked = looked_at_.value_or(here);
  return stage_.sabotaged(Sabotage::window_past_cursor) ? marked : std::min(marked, here);
}

// --- the audit -----------------------------------------------------------------------------------

std::vector<Table::Row> CursorStore::late_rows(const NotedRange& range, unsigned rows_max,
                                               bool aside_too) const {
  std::vector<Table::Row> late;
  for (const auto& row : table_.rows_between(range.after, range.up_to)) {
    const auto id = std::to_string(row.id);
    const bool noted = range.ids.contains(id) || ledger_.has(id);
    if (!noted && (aside_too || !aside_.has(id))) late.push_back(row);
    if (late.size() == rows_max) break;
  }
  return late;
}

std::optional<OrderKey> CursorStore::late_window_start() const {
  if (stage_.setup.lookback == 0 || !cursor_.position) return std::nullopt;
  const OrderKey here = cursor_.position->created_at_us;
  const OrderKey looked_at = looked_at_.value_or(here);
  const bool clamped = !stage_.sabotaged(Sabotage::window_past_cursor);
  return (clamped ? std::min(looked_at, here) : looked_at) - stage_.setup.lookback;
}

void CursorStore::halt_late(std::int64_t row) {
  cursor_.state = Cursor::State::halted;
  cursor_.reason = HaltReason::late_row;
  cursor_.row_id = std::to_string(row);
  cursor_.detail = "appeared behind";
  unwaited_.reset();
  table_.wal.commit(true);
  stage_.evidence.halts.push_back({stage_.now(), HaltReason::late_row, *cursor_.row_id});
  stage_.trace(stage_.now(), "auditor", [&] { return "halts: LATE_ROW at " + *cursor_.row_id; });
}

std::optional<Table::Row> CursorStore::late_row(const std::string& id) const {
  const auto row = table_.row(id);
  if (!row || !cursor_.position || ledger_.has(id)) return std::nullopt;
  const bool ahead = core::comes_after(position_of(*row), *cursor_.position, stage_.setup.order);
  return ahead ? std::nullopt : row;
}

}  // namespace seriatim::simulation

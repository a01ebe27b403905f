// Of the cursor's store: rows that are late, found by the audit or delivered.
#include <algorithm>

#include "core/fence.hpp"
#include "simulation/cursor_store.hpp"

namespace seriatim::simulation {

// --- late rows, delivered ------------------------------------------------------------------------

Mark CursorStore::window_start(Backend& by, const Position& cursor) const {
  const Mark here = cursor.created_at_us;
  const bool clamped = !stage_.sabotaged(Sabotage::window_past_cursor);
  const auto up_to_here = [&](Mark looked) { return clamped ? std::min(looked, here) : looked; };
  Mark looked_at = up_to_here(looked_at_.value_or(here));
  if (stage_.sabotaged(Sabotage::window_from_cursor)) looked_at = here;
  by.looked_at = std::max(looked_at, up_to_here(by.looked_at.value_or(looked_at)));
  return looked_at - stage_.setup.lookback;
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

std::optional<Mark> CursorStore::late_window_start() const {
  if (stage_.setup.lookback == 0 || !cursor_.position) return std::nullopt;
  const Mark here = cursor_.position->created_at_us;
  const Mark looked_at = looked_at_.value_or(here);
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

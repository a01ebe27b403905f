// Of the cursor's store: rows that are late, found by the audit or delivered.
#include <algorithm>

#include "core/fence.hpp"
#include "simulation/cursor_store.hpp"

namespace seriatim::simulation {

// --- late rows, delivered ------------------------------------------------------------------------

CursorStore::Window CursorStore::window(Backend& by, const std::optional<Position>& cursor) const {
  by.planned_before = planned_;
  by.sequence_before = cursor_.sequence;
  if (!cursor) return {planned_, mark_min};
  const Mark here = cursor->created_at_us;
  Mark looked_at = std::max(looked_at_.value_or(mark_min), by.looked_at.value_or(mark_min));
  if (looked_at == mark_min || stage_.sabotaged(Sabotage::window_from_cursor)) looked_at = here;
  if (!stage_.sabotaged(Sabotage::window_past_cursor)) looked_at = std::min(looked_at, here);
  by.looked_at = looked_at;
  return {planned_, looked_at - stage_.setup.lookback};
}

// --- the audit -----------------------------------------------------------------------------------

std::vector<Table::Row> CursorStore::late_rows(const NotedRange& range, unsigned rows_max) const {
  std::vector<Table::Row> late;
  for (const auto& row : table_.rows_between(range.after, range.up_to)) {
    const auto id = std::to_string(row.id);
    if (!range.ids.contains(id) && !ledger_.has(id)) late.push_back(row);
    if (late.size() == rows_max) break;
  }
  return late;
}

std::optional<Table::Row> CursorStore::late_row(const std::string& id) const {
  const auto row = table_.row(id);
  if (!row || !cursor_.position || ledger_.has(id)) return std::nullopt;
  const bool ahead = core::comes_after(position_of(*row), *cursor_.position, stage_.setup.order);
  return ahead ? std::nullopt : row;
}

}  // namespace seriatim::simulation

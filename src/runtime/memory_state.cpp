#include "runtime/memory_state.hpp"

namespace seriatim::testing {

const Record& MemorySource::State::record(const Position& position) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const memory::Row& row) {
    return row.record.position == position;
  });
  if (found == rows.end()) throw Error("there is no row " + position.id);
  return found->record;
}

core::ParkedKeys MemorySource::State::parked_keys(const std::string& process) const {
  core::ParkedKeys keys;
  const auto found = parked.find(process);
  if (found == parked.end()) return keys;
  for (const auto& row : found->second) {
    if (row.holds_key) keys.insert(row.record.key);
  }
  return keys;
}

/// Visible rows of the lane after the cursor, in order.
std::vector<const memory::Row*> MemorySource::State::waiting(
    const LaneId& id, const std::optional<Position>& after) const {
  std::vector<const memory::Row*> found;
  for (const auto& row : rows) {
    const bool behind = after && !core::comes_after(row.record.position, *after, order);
    if (!behind && visible(row) && belongs(row.record, id)) found.push_back(&row);
  }
  std::sort(found.begin(), found.end(), [&](const memory::Row* a, const memory::Row* b) {
    return core::comes_after(b->record.position, a->record.position, order);
  });
  return found;
}

}  // namespace seriatim::testing

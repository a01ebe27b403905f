#include "simulation/parked_store.hpp"

#include <algorithm>
#include <utility>

#include "core/fence.hpp"

namespace seriatim::simulation {

namespace {

bool share_a_queue(const ParkedStore::Row& a, const ParkedStore::Row& b) {
  return a.holds_key && b.holds_key && a.key == b.key;
}

bool is_chosen(const ParkedStore::Row& row, const ParkedChoice& choice) {
  return choice.all() || choice.id == row.position.id || (choice.key && choice.key == row.key);
}

}  // namespace

const ParkedStore::Row* ParkedStore::find(const std::string& id) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& row) { return row.position.id == id; });
  return found == rows_.end() ? nullptr : &*found;
}

ParkedStore::Row* ParkedStore::find(const std::string& id) {
  return const_cast<Row*>(std::as_const(*this).find(id));
}

unsigned ParkedStore::heads() const {
  return static_cast<unsigned>(
      std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.head; }));
}

core::ParkedKeys ParkedStore::keys() const {
  core::ParkedKeys keys;
  for (const auto& row : rows_) {
    if (row.head && row.holds_key) keys.insert(row.key);
  }
  return keys;
}

std::optional<std::string> ParkedStore::next_due(const std::vector<std::string>& planned) const {
  const Row* next = nullptr;
  for (const auto& row : rows_) {
    if (!row.due) continue;
    const auto& id = row.position.id;
    if (std::find(planned.begin(), planned.end(), id) != planned.end()) return id;
    const bool in_order = !stage_.sabotaged(Sabotage::redrive_out_of_order);
    if (next == nullptr || !in_order) next = &row;
  }
  return next == nullptr ? std::nullopt : std::optional(next->position.id);
}

void ParkedStore::queue(const std::vector<QueuedRow>& rows, std::uint64_t epoch) {
  if (stage_.sabotaged(Sabotage::queue_not_written)) return;
  for (const auto& queued : rows) {
    Row row{queued.position, queued.key, next_number_++, true, false, false, 0};
    const auto head = std::find_if(rows_.begin(), rows_.end(), [&](const Row& other) {
      return other.head && share_a_queue(other, row);
    });
    row.due =
        head != rows_.end() && head->due && !stage_.sabotaged(Sabotage::queue_does_not_inherit);
    rows_.push_back(row);
    stage_.evidence.parked.push_back(
        {stage_.now(), std::stoll(row.position.id), epoch, false, true});
  }
}

ParkedStore::Taken ParkedStore::take(const std::string& id) {
  const auto* const found = find(id);
  if (found == nullptr || stage_.sabotaged(Sabotage::redriven_not_taken)) return {};
  const auto gone = *found;
  std::erase_if(rows_, [&](const Row& row) { return row.position.id == id; });
  const auto next = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.number > gone.number && share_a_queue(row, gone);
  });
  if (next != rows_.end()) next->head = true;
  return {gone.holds_key && next == rows_.end(), gone.key};
}

bool ParkedStore::park(const Parking& parking, std::uint64_t epoch) {
  auto* row = find(parking.row.id);
  if (row == nullptr) {
    rows_.push_back({parking.row, parking.key, next_number_++, parking.holds_key, true, false, 0});
    row = &rows_.back();
  }
  row->due = false;
  row->failed_at = stage_.now();
  for (auto& other : rows_) {
    const bool left = stage_.sabotaged(Sabotage::failed_row_alone_put_back);
    if (share_a_queue(other, *row) && !left) other.due = false;
  }
  stage_.evidence.parked.push_back(
      {stage_.now(), std::stoll(parking.row.id), epoch, true, row->holds_key});
  return row->holds_key;
}

void ParkedStore::redrive(const ParkedChoice& choice) {
  const auto* const named = choice.id ? find(*choice.id) : nullptr;
  for (auto& row : rows_) {
    if (is_chosen(row, choice) || (named != nullptr && share_a_queue(row, *named))) row.due = true;
  }
  stage_.evidence.redrives.push_back(
      {stage_.now(), choice.id ? std::optional(std::stoll(*choice.id)) : std::nullopt, choice.key});
}

std::vector<std::string> ParkedStore::discard(const ParkedChoice& choice) {
  std::vector<std::string> gone;
  for (const auto& row : rows_) {
    if (!is_chosen(row, choice)) continue;
    gone.push_back(row.position.id);
    stage_.evidence.discards.push_back({stage_.now(), std::stoll(row.position.id)});
  }
  std::erase_if(rows_, [&](const Row& row) { return is_chosen(row, choice); });
  promote_heads();
  return gone;
}

void ParkedStore::forget_after(const std::optional<Position>& place) {
  std::erase_if(rows_, [&](const Row& row) {
    return !place || core::comes_after(row.position, *place, stage_.setup.order);
  });
  promote_heads();
}

void ParkedStore::promote_heads() {
  for (auto row = rows_.begin(); row != rows_.end(); ++row) {
    const bool first = std::none_of(rows_.begin(), row,
                                    [&](const Row& other) { return share_a_queue(other, *row); });
    if (row->holds_key && first) row->head = true;
  }
}

}  // namespace seriatim::simulation

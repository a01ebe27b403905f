#include "simulation/aside_store.hpp"

#include <algorithm>
#include <utility>

#include "core/fence.hpp"

namespace seriatim::simulation {

namespace {

bool share_a_queue(const AsideStore::Row& a, const AsideStore::Row& b) {
  return a.parked && b.parked && a.holds_key && b.holds_key && a.key == b.key;
}

bool is_chosen(const AsideStore::Row& row, const ParkedChoice& choice) {
  if (!row.parked) return false;
  return choice.all() || choice.id == row.position.id || (choice.key && choice.key == row.key);
}

}  // namespace

std::vector<AsideStore::Row> AsideStore::parked() const {
  std::vector<Row> parked;
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(parked),
               [](const Row& row) { return row.parked; });
  return parked;
}

const AsideStore::Row* AsideStore::find(const std::string& id) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& row) { return row.position.id == id; });
  return found == rows_.end() ? nullptr : &*found;
}

AsideStore::Row* AsideStore::find(const std::string& id) {
  return const_cast<Row*>(std::as_const(*this).find(id));
}

const AsideStore::Row* AsideStore::find_parked(const std::string& id) const {
  const auto* const row = find(id);
  return row != nullptr && row->parked ? row : nullptr;
}

unsigned AsideStore::heads() const {
  return static_cast<unsigned>(
      std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.head; }));
}

unsigned AsideStore::held() const {
  return static_cast<unsigned>(std::count_if(
      rows_.begin(), rows_.end(), [](const Row& row) { return row.head && row.retry_at; }));
}

std::optional<Micros> AsideStore::held_for() const {
  std::optional<Micros> least;
  for (const auto& row : rows_) {
    if (!row.head || row.due || !row.retry_at) continue;
    const auto left = std::max<Micros>(*row.retry_at - stage_.now(), 0);
    least = std::min(least.value_or(left), left);
  }
  return least;
}

void AsideStore::release_held(unsigned rows_max) {
  for (auto& held : rows_) {
    if (!held.head || held.due || !held.retry_at || *held.retry_at > stage_.now()) continue;
    unsigned released = 0;
    for (auto& row : rows_) {
      const bool of_key = &row == &held || share_a_queue(row, held);
      if (!of_key || released++ >= (held.attempts > 0 ? 1 : rows_max)) continue;
      row.due = true;
      stage_.evidence.redrives.push_back(
          {stage_.now(), std::stoll(row.position.id), std::nullopt, true});
    }
  }
}

ParkedKeys AsideStore::keys() const {
  ParkedKeys keys;
  for (const auto& row : rows_) {
    if (row.head && row.holds_key) keys.insert(row.key);
  }
  return keys;
}

std::vector<AsideStore::Row> AsideStore::due() const {
  std::vector<Row> due;
  std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(due),
               [](const Row& row) { return row.due; });
  if (stage_.sabotaged(Sabotage::redrive_out_of_order)) std::reverse(due.begin(), due.end());
  std::stable_sort(due.begin(), due.end(),
                   [](const Row& a, const Row& b) { return a.begun && !b.begun; });
  return due;
}

void AsideStore::begin(const Batch& batch) {
  const auto forgotten = batch.redriven ? Sabotage::redrive_plan_not_kept : Sabotage::plan_not_kept;
  if (stage_.sabotaged(forgotten)) return;
  for (const auto& due : batch.rows) {
    auto* row = find(due.position.id);
    if (row == nullptr) {
      rows_.push_back({due.position, due.key, next_number_++});
      row = &rows_.back();
    }
    if (row->begun) continue;
    row->due = row->begun = true;
    if (batch.redriven) continue;
    row->late = due.late;
    row->parked = row->head = row->holds_key = false;
  }
}

bool AsideStore::queue(const std::vector<QueuedRow>& rows, std::uint64_t epoch) {
  if (stage_.sabotaged(Sabotage::queue_not_written)) return false;
  bool due_at_once = false;
  for (const auto& queued : rows) {
    if (queued.aside) continue;
    auto* row = find(queued.position.id);
    if (row == nullptr) {
      rows_.push_back({queued.position, queued.key, next_number_++});
      row = &rows_.back();
    }
    if (row->parked) continue;
    row->begun = false;
    row->parked = row->late = row->holds_key = true;
    const auto head = std::find_if(rows_.begin(), rows_.end(), [&](const Row& other) {
      return other.head && share_a_queue(other, *row);
    });
    const bool ended = std::none_of(rows_.begin(), rows_.end(), [&](const Row& other) {
      return &other != row && share_a_queue(other, *row);
    });
    if (ended && !stage_.sabotaged(Sabotage::queue_without_head)) {
      row->head = due_at_once = true;
      row->retry_at = stage_.now();
    }
    const bool all_due = std::all_of(rows_.begin(), rows_.end(), [&](const Row& other) {
      return &other == row || !share_a_queue(other, *row) || other.due;
    });
    const bool due = all_due || stage_.sabotaged(Sabotage::newer_are_due_at_once);
    row->due = !ended && head != rows_.end() && head->due && due &&
               !stage_.sabotaged(Sabotage::queue_does_not_inherit);
    stage_.evidence.parked.push_back(
        {stage_.now(), std::stoll(row->position.id), epoch, false, true});
  }
  return due_at_once;
}

std::vector<std::optional<std::string>> AsideStore::take(const std::vector<Position>& rows) {
  std::vector<std::optional<std::string>> ended;
  for (const auto& position : rows) {
    const auto* const found = find(position.id);
    if (found == nullptr) continue;
    const auto gone = *found;
    if (gone.parked && stage_.sabotaged(Sabotage::redriven_not_taken)) continue;
    std::erase_if(rows_, [&](const Row& row) { return row.position.id == gone.position.id; });
    if (!gone.parked || !gone.holds_key) continue;
    const auto next = std::find_if(rows_.begin(), rows_.end(),
                                   [&](const Row& row) { return share_a_queue(row, gone); });
    if (next != rows_.end()) {
      next->head = true;
      next->retry_at = gone.retry_at;
    }
    if (next == rows_.end()) ended.push_back(gone.key);
  }
  return ended;
}

bool AsideStore::park(const Park& parking, std::uint64_t epoch) {
  auto* row = find(parking.row.id);
  if (row == nullptr) {
    rows_.push_back({parking.row, parking.key, next_number_++});
    row = &rows_.back();
  }
  if (!row->parked) row->holds_key = parking.holds_key;
  row->parked = row->head = row->late = true;
  row->failed_at = stage_.now();
  if (!row->retry_at && parking.retry_in) row->attempts = 0;
  row->retry_at.reset();
  if (parking.retry_in) {
    row->retry_at = stage_.now() + std::chrono::microseconds(*parking.retry_in).count();
  }
  row->attempts += parking.attempts;
  put_back(*row);
  stage_.evidence.parked.push_back(
      {stage_.now(), std::stoll(parking.row.id), epoch, true, row->holds_key});
  return row->holds_key;
}

void AsideStore::put_back(Row& row) {
  row.due = row.begun = false;
  for (auto& other : rows_) {
    const bool left = stage_.sabotaged(Sabotage::failed_row_alone_put_back);
    if (&other != &row && share_a_queue(other, row) && !left) other.due = other.begun = false;
  }
}

void AsideStore::put_back_begun() {
  for (auto& row : rows_) row.begun = row.begun && !row.parked;
}

bool AsideStore::leave_out(const std::string& id) {
  auto* row = find(id);
  if (row == nullptr) return false;
  const bool begun = row->begun;
  row->retry_at.reset();
  row->parked ? put_back(*row) : skip(id);
  return begun;
}

void AsideStore::redrive(const ParkedChoice& choice) {
  const auto* const named = choice.id ? find_parked(*choice.id) : nullptr;
  for (auto& row : rows_) {
    if (is_chosen(row, choice) || (named != nullptr && share_a_queue(row, *named))) row.due = true;
  }
  stage_.evidence.redrives.push_back(
      {stage_.now(), choice.id ? std::optional(std::stoll(*choice.id)) : std::nullopt, choice.key});
}

std::vector<AsideStore::Row> AsideStore::discard(const ParkedChoice& choice) {
  std::vector<Row> gone;
  for (const auto& row : rows_) {
    if (!is_chosen(row, choice)) continue;
    gone.push_back(row);
    stage_.evidence.discards.push_back({stage_.now(), std::stoll(row.position.id)});
  }
  std::erase_if(rows_, [&](const Row& row) { return is_chosen(row, choice); });
  for (auto& row : rows_) {
    const bool was_held = std::any_of(gone.begin(), gone.end(), [&](const Row& other) {
      return other.retry_at && share_a_queue(other, row);
    });
    const bool first = std::none_of(rows_.data(), &row,
                                    [&](const Row& other) { return share_a_queue(other, row); });
    if (was_held && first) row.retry_at = stage_.now();
  }
  promote_heads();
  return gone;
}

void AsideStore::skip(const std::string& id) {
  std::erase_if(rows_, [&](const Row& row) { return !row.parked && row.position.id == id; });
}

void AsideStore::forget_batch() {
  std::erase_if(rows_, [](const Row& row) { return !row.parked && !row.late; });
}

void AsideStore::forget_after(const std::optional<Position>& place) {
  const bool plan_stays = stage_.sabotaged(Sabotage::plan_outlives_rewind);
  std::erase_if(rows_, [&](const Row& row) {
    if (!row.parked && plan_stays) return false;
    return !place || core::comes_after(row.position, *place, stage_.setup.order);
  });
  promote_heads();
}

void AsideStore::forget_between(const std::optional<Position>& from, const Position& to) {
  std::erase_if(rows_, [&](const Row& row) {
    const bool behind = from && !core::comes_after(row.position, *from, stage_.setup.order);
    if (behind || core::comes_after(row.position, to, stage_.setup.order)) return false;
    if (row.parked) stage_.evidence.discards.push_back({stage_.now(), std::stoll(row.position.id)});
    return true;
  });
  promote_heads();
}

void AsideStore::promote_heads() {
  for (auto row = rows_.begin(); row != rows_.end(); ++row) {
    const bool first = std::none_of(rows_.begin(), row,
                                    [&](const Row& other) { return share_a_queue(other, *row); });
    if (row->holds_key && first) row->head = true;
  }
}

}  // namespace seriatim::simulation

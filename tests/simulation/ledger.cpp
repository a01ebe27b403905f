#include "simulation/ledger.hpp"

#include <algorithm>
#include <utility>

namespace seriatim::simulation {

Position end_of(OrderKey moment) {
  return {moment, std::string(20, '9')};  // above all ids
}

bool Ledger::is_after(const Position& row, const std::optional<Position>& place) const {
  return !place || core::comes_after(row, *place, stage_.setup.order);
}

void Ledger::note(const std::vector<Position>& done, const Position& cursor) {
  for (const auto& row : done) open_.ids.emplace(row.id, row);
  if (open_.ids.size() >= bucket_rows) close(cursor);
}

void Ledger::close(const Position& to) {
  open_.to = to;
  closed_.push_back(std::exchange(open_, {}));
  open_.from = to;
}

void Ledger::note_late(const Position& row) {
  const auto bucket_of = std::find_if(closed_.begin(), closed_.end(), [&](const Bucket& bucket) {
    return is_after(row, bucket.from) && !is_after(row, bucket.to);
  });
  (bucket_of == closed_.end() ? open_ : *bucket_of).ids.emplace(row.id, row);
}

void Ledger::jump(const std::vector<Position>& rows, const std::optional<Position>& from) {
  if (!open_.ids.empty()) close(*from);
  for (const auto& row : rows) note({row}, row);
  if (!open_.ids.empty()) close(rows.back());
}

/// The bucket the place lies in is the open one again, with what is there up to the place.
void Ledger::cut(const std::optional<Position>& place) {
  const auto first_gone = std::find_if(closed_.begin(), closed_.end(), [&](const Bucket& bucket) {
    return !place || is_after(bucket.to, place);
  });
  if (first_gone != closed_.end()) open_ = *first_gone;
  closed_.erase(first_gone, closed_.end());
  std::erase_if(open_.ids, [&](const auto& noted) { return is_after(noted.second, place); });
  if (!place) open_ = {};
}

bool Ledger::has(const std::string& id) const {
  const auto noted = [&](const Bucket& bucket) { return bucket.ids.contains(id); };
  return noted(open_) || std::any_of(closed_.begin(), closed_.end(), noted);
}

namespace {

void add(std::set<std::string>& ids, const std::map<std::string, Position>& noted) {
  for (const auto& [id, place] : noted) ids.insert(id);
}

}  // namespace

NotedRange Ledger::newest(const Position& up_to) const {
  NotedRange range{open_.from, up_to, {}};
  add(range.ids, open_.ids);
  const auto begins_before = [&](const Bucket& bucket) { return is_after(up_to, bucket.from); };
  const auto newest = std::find_if(closed_.rbegin(), closed_.rend(), begins_before);
  if (newest == closed_.rend()) return range;
  range.after = newest->from;
  for (auto bucket = newest.base() - 1; bucket != closed_.end(); ++bucket) {
    add(range.ids, bucket->ids);
  }
  return range;
}

std::optional<NotedRange> Ledger::closed(std::size_t number, const Position& up_to) const {
  if (number >= closed_.size() || is_after(closed_[number].to, up_to)) return std::nullopt;
  NotedRange range{closed_[number].from, closed_[number].to, {}};
  add(range.ids, closed_[number].ids);
  return range;
}

NotedRange Ledger::since(OrderKey moment, const Position& cursor) const {
  NotedRange range{end_of(moment), cursor, {}};
  add(range.ids, open_.ids);
  for (const auto& bucket : closed_) {
    if (bucket.to.created_at_us >= moment) add(range.ids, bucket.ids);
  }
  return range;
}

}  // namespace seriatim::simulation

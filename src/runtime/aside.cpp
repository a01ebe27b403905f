#include "runtime/aside.hpp"

#include <algorithm>
#include <utility>

namespace seriatim::runtime {

namespace {

/// Begun or not, parked before or not; and, of rows that hold their key, only those of one key.
/// These are put back together if the first of them fails, so that no number that one of them was
/// sent with is used again.
bool go_together(const DueRow& a, const DueRow& b) {
  return a.begun == b.begun && a.redriven == b.redriven && a.holds_key == b.holds_key &&
         (!a.holds_key || a.key == b.key);
}

}  // namespace

void Aside::load(bool any) {
  any_ = any;
  begun_.clear();
  keys_ = any ? store_.parked_keys() : ParkedKeys{};
  held_for_.reset();
}

std::vector<DueRow> Aside::of_one_kind(std::uint64_t epoch, unsigned rows_max, Begin begin) {
  auto due = store_.due_rows(epoch, rows_max, {});
  held_for_ = due.held_for;
  if (due.rows.empty()) begun_.clear();
  const bool may_begin = begin == Begin::idle || (begin == Begin::caught_up && !due.number_in_use);
  std::vector<DueRow> batch;
  for (auto& row : due.rows) {
    const bool fits = batch.empty() ? row.begun || may_begin : go_together(row, batch.front());
    if (!fits) break;
    batch.push_back(std::move(row));
  }
  if (batch.empty() && !due.rows.empty()) held_for_ = std::chrono::milliseconds{0};
  return batch;
}

PollResult Aside::due(std::uint64_t epoch, const Wanted& wanted, Begin begin) {
  while (any_ || !begun_.empty()) {
    const auto due = of_one_kind(epoch, wanted.rows_max, begin);
    if (due.empty()) break;
    auto round = read(due, wanted);
    const bool starts = !round.records.empty() || (round.unreadable && !due.front().redriven);
    if (starts) return round;
    if (!leave_out(epoch, due.front(), round.unreadable)) break;
  }
  return {};
}

PollResult Aside::due_of_keys(std::uint64_t epoch, const Wanted& wanted, const DueChoice& choice) {
  if (!any_) return {};
  for (;;) {
    auto due = store_.due_rows(epoch, wanted.rows_max, choice);
    held_for_ = due.held_for;
    if (due.rows.size() >= wanted.rows_max) held_for_ = std::chrono::milliseconds{0};
    auto [round, had_places] = read_each(epoch, std::move(due.rows), wanted);
    if (had_places) continue;
    queue_late_rows(round);
    return round;
  }
}

/// Rows that were never parked queue if their key is held.
void Aside::queue_late_rows(PollResult& round) const {
  auto all = std::exchange(round, {});
  for (std::size_t i = 0; i < all.records.size(); ++i) {
    auto& record = all.records[i];
    auto& due = all.due_rows[i];
    if (!due.redriven && keys_.contains(record.key)) {
      round.queued.push_back({record.position, record.key, 0, true});
    } else {
      round.records.push_back(std::move(record));
      round.due_rows.push_back(std::move(due));
    }
  }
}

namespace {

/// Of so many rows, at the beginning, it is known whether they can go out. A read may end early: at
/// a row that cannot be read, or because it has brought enough bytes.
std::ptrdiff_t known_of(const std::vector<DueRow>& due, const PollResult& read) {
  const auto last = read.unreadable        ? read.unreadable->row_id
                    : read.records.empty() ? due.front().id
                                           : read.records.back().id();
  const auto found =
      std::find_if(due.begin(), due.end(), [&](const DueRow& row) { return row.id == last; });
  return found == due.end() ? 1 : found - due.begin() + 1;
}

}  // namespace

/// A row that cannot go out is left out, and the rows of its key with it: unless one of these goes
/// out first.
Aside::EachRow Aside::read_each(std::uint64_t epoch, std::vector<DueRow> due,
                                const Wanted& wanted) {
  EachRow each;
  auto& round = each.round;
  ParkedKeys taken;
  ParkedKeys left;
  while (!due.empty()) {
    std::vector<std::string> ids;
    for (const auto& row : due) ids.push_back(row.id);
    auto read = reader_.reread(ids, wanted.after, static_cast<unsigned>(ids.size()));
    const auto end = due.begin() + known_of(due, read);
    auto record = read.records.begin();
    for (auto row = due.begin(); row != end; ++row) {
      const bool is_there = record != read.records.end() && record->id() == row->id;
      const bool waits = row->holds_key && left.contains(row->key);
      const bool follows = row->holds_key && taken.contains(row->key);
      // Of a batch of one call that was not called: it is read after the cursor, too.
      const bool has_place = is_there && !row->redriven && !record->late;
      if (has_place) {
        if (!leave_out(epoch, *row, std::nullopt)) return {};
        each.had_places = true;
      } else if (is_there && !waits) {
        record->late = true;
        round.records.push_back(std::move(*record));
        round.due_rows.push_back(*row);
        if (row->holds_key) taken.insert(row->key);
      } else if (!is_there) {
        const bool unreadable = read.unreadable && read.unreadable->row_id == row->id;
        const auto& why = unreadable ? read.unreadable : std::nullopt;
        if (!follows && !leave_out(epoch, *row, why)) return {};
        if (row->holds_key) left.insert(row->key);
      }
      if (is_there) ++record;
    }
    due.erase(due.begin(), end);
  }
  return each;
}

/// Up to a row that cannot go out, which is left out once it is the first.
PollResult Aside::read(const std::vector<DueRow>& due, const Wanted& wanted) {
  std::vector<std::string> ids;
  for (const auto& row : due) ids.push_back(row.id);
  auto read = reader_.reread(ids, wanted.after, wanted.rows_max);
  PollResult round;
  const bool redriven = due.front().redriven;
  round.planned = true;
  if (!redriven) round.looked_at = read.looked_at;
  auto next = due.begin();
  for (auto& record : read.records) {
    // It may come after one of its group that goes out first: they were created at once.
    const bool in_group = !round.records.empty() && round.records.back().position.created_at_us ==
                                                        record.position.created_at_us;
    const bool late = redriven || record.late || (in_group && next->late == true);
    const bool has_new_place = next->late == true && !late;  // it goes out there
    if (next->id != record.id() || has_new_place) break;
    record.late = late;
    round.records.push_back(std::move(record));
    round.due_rows.push_back(*next);
    ++next;
  }
  const bool first_unreadable = read.unreadable && read.unreadable->row_id == due.front().id;
  if (round.records.empty() && first_unreadable) round.unreadable = std::move(read.unreadable);
  return round;
}

/// False if the lane is another's by now, who may have begun the row.
bool Aside::leave_out(std::uint64_t epoch, const DueRow& row,
                      const std::optional<PollResult::Unreadable>& unreadable) {
  const auto why = unreadable ? std::optional(unreadable->detail) : std::nullopt;
  switch (store_.leave_out(epoch, row, why)) {
    case LeftOut::quietly: return true;
    case LeftOut::refused: return false;
    case LeftOut::number_unused: break;
  }
  throw SessionLost("row " + row.id +
                    " of the batch in flight goes out no more, and its number stays unused: the "
                    "lane reads its cursor again");
}

void Aside::begin(const Batch& batch) {
  if (!batch.planned) return;
  for (const auto& row : batch.rows) begun_.insert(row.position.id);
}

void Aside::settled(const Settlement& settlement, const SettleAnswer& answer) {
  for (const auto& row : settlement.done) begun_.erase(row.id);
  for (const auto& key : answer.ended_keys) keys_.erase(key);
  // The key of a row that queued may have ended while several calls were in flight.
  for (const auto& row : settlement.queued) {
    if (!row.aside) keys_.insert(row.key);
  }
  keys_.insert(answer.parked_keys.begin(), answer.parked_keys.end());
  const auto wait = [this](const Park& park) {
    if (park.retry_in) held_for_ = std::min(held_for_.value_or(*park.retry_in), *park.retry_in);
  };
  std::for_each(settlement.parks.begin(), settlement.parks.end(), wait);
  const auto* park = std::get_if<Park>(&settlement.fate);
  if (park) wait(*park);
  if (answer.makes_due) held_for_ = std::chrono::milliseconds{0};
  any_ = any_ || park || !settlement.parks.empty() || !settlement.queued.empty();
}

}  // namespace seriatim::runtime

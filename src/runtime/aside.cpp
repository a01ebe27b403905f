#include "runtime/aside.hpp"

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
  auto due = store_.due_rows(epoch, rows_max);
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
    const bool starts = !round.records.empty() || (round.unreadable && !round.redriven);
    if (starts) return round;
    if (!leave_out(epoch, due.front(), round)) break;
  }
  return {};
}

/// Up to a row that cannot go out, which is left out once it is the first.
PollResult Aside::read(const std::vector<DueRow>& due, const Wanted& wanted) {
  std::vector<std::string> ids;
  for (const auto& row : due) ids.push_back(row.id);
  auto read = reader_.reread(ids, wanted.after, wanted.rows_max);
  PollResult round;
  round.planned = true;
  round.due = true;
  round.redriven = due.front().redriven;
  round.of_one_key = due.front().holds_key;
  round.attempts_before = due.front().attempts;
  if (!round.redriven) round.looked_at = read.looked_at;
  auto next = due.begin();
  for (auto& record : read.records) {
    // It may come after one of its group that goes out first: they were created at once.
    const bool in_group = !round.records.empty() && round.records.back().position.created_at_us ==
                                                        record.position.created_at_us;
    const bool late = round.redriven || record.late || (in_group && next->late == true);
    const bool has_new_place = next->late == true && !late;  // it goes out there
    if (next->id != record.id() || has_new_place) break;
    record.late = late;
    round.records.push_back(std::move(record));
    ++next;
  }
  const bool first_unreadable = read.unreadable && read.unreadable->row_id == due.front().id;
  if (round.records.empty() && first_unreadable) round.unreadable = std::move(read.unreadable);
  return round;
}

/// False if the lane is another's by now, who may have begun the row.
bool Aside::leave_out(std::uint64_t epoch, const DueRow& row, const PollResult& round) {
  const auto why = round.unreadable ? std::optional(round.unreadable->detail) : std::nullopt;
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
  const auto* park = std::get_if<Park>(&settlement.fate);
  if (park == nullptr) return;
  any_ = true;
  if (answer.holds_key) keys_.insert(answer.parked_key);
}

}  // namespace seriatim::runtime

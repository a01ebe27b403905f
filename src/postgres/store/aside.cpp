#include "postgres/store/aside.hpp"

#include <algorithm>
#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

std::optional<std::string> text_of(const pqxx::field& field) {
  return field.is_null() ? std::nullopt : std::optional(field.as<std::string>());
}

std::string truth(bool value) {
  return value ? "true" : "false";
}

DueRow due_row_from(const pqxx::row& row) {
  DueRow due{
      row["row_id"].as<std::string>(), row["begun"].as<bool>(), row["redriven"].as<bool>(), {}, {}};
  if (!row["late"].is_null()) due.late = row["late"].as<bool>();
  if (!row["created_at_us"].is_null()) due.created_at_us = row["created_at_us"].as<Mark>();
  return due;
}

}  // namespace

Aside::Aside(Connection& connection, const Table& table, const SourceConfig& config,
             const LaneId& lane)
    : connection_(connection),
      lane_(lane),
      forget_due_(fill(sql::store::forget_due, {{"counted", sql::store::number_unused}})),
      put_back_parked_(fill(sql::store::put_back_parked, {{"counted", sql::store::number_unused}})),
      reader_(connection, table, config, lane),
      keeps_all_(config.late_rows == OnLateRow::deliver) {}

void Aside::load(bool any, std::uint64_t epoch) {
  epoch_ = epoch;
  any_ = any;
  none_due_ = false;
  begun_.clear();
  keys_.clear();
  if (!any) return;
  for (const auto& row : connection_.run(sql::store::parked_keys, {lane_.process})) {
    keys_.insert(text_of(row["key"]));
  }
}

std::vector<DueRow> due_rows(Connection& connection, const LaneId& lane, unsigned rows_max) {
  std::vector<DueRow> due;
  for (const auto& row :
       connection.run(sql::store::due_rows,
                      {lane.process, std::to_string(lane.lane), std::to_string(lane.lanes),
                       std::to_string(rows_max), truth(true)})) {
    if (row["row_id"].is_null()) break;
    due.push_back(due_row_from(row));
  }
  return due;
}

/// Rows of one kind: begun or not, parked before or not.
std::vector<DueRow> Aside::read_due(unsigned rows_max, Begin begin) {
  const auto rows = connection_.run(
      sql::store::due_rows, {lane_.process, std::to_string(lane_.lane), std::to_string(lane_.lanes),
                             std::to_string(rows_max), truth(may_have_due())});
  if (rows.empty()) return {};
  const bool none_open =
      rows[0]["handed_to"].as<std::uint64_t>() <= rows[0]["sequence"].as<std::uint64_t>();
  const bool may_begin = begin == Begin::idle || (begin == Begin::caught_up && none_open);
  std::vector<DueRow> due;
  if (rows[0]["row_id"].is_null()) {
    none_due_ = true;
    begun_.clear();
  }
  for (const auto& row : rows) {
    if (row["row_id"].is_null()) break;
    auto next = due_row_from(row);
    const bool fits =
        due.empty() ? next.begun || may_begin
                    : next.begun == due.front().begun && next.redriven == due.front().redriven;
    if (!fits) break;
    due.push_back(std::move(next));
  }
  return due;
}

Round Aside::due(const std::optional<Position>& cursor, unsigned rows_max, Begin begin) {
  batch_.reset();
  lost_ = false;
  if (!any_ && !keeps_all_) return {};
  while (true) {
    const auto due = read_due(rows_max, begin);
    if (due.empty()) return {};
    auto round = round_of(due, cursor, rows_max);
    const bool left_out = round.records.empty() && !round.unreadable;
    if (!left_out || lost_) return round;
  }
}

/// Up to a row that cannot go out, which is left out once it is the first.
Round Aside::round_of(const std::vector<DueRow>& due, const std::optional<Position>& cursor,
                      unsigned rows_max) {
  std::vector<std::string> ids;
  for (const auto& row : due) ids.push_back(row.id);
  auto read = reader_.read_ids(ids, cursor, rows_max);
  Round round;
  round.redriven = due.front().redriven;
  auto next = due.begin();
  for (auto& record : read.records) {
    // It may stand behind one of its group that goes out first (WrittenOrder).
    const bool in_group = !round.records.empty() && round.records.back().position.created_at_us ==
                                                        record.position.created_at_us;
    const bool late = round.redriven || record.late || (in_group && next->late == true);
    const bool has_new_place = next->late == true && !late;  // it goes out there
    if (next->id != record.id() || has_new_place) break;
    record.late = late;
    round.records.push_back(std::move(record));
    ++next;
  }
  if (!round.records.empty()) return round;
  const bool stands = read.unreadable && read.unreadable->row_id == due.front().id;
  if (stands && !round.redriven) {
    round.unreadable = std::move(read.unreadable);
  } else {
    leave_out(due.front(), stands ? read.unreadable : std::nullopt);
  }
  return round;
}

/// Not if the lane is another's by now, who may have begun them.
void Aside::leave_out(const DueRow& row, const std::optional<Round::Unreadable>& unreadable) {
  const auto lane = std::to_string(lane_.lane);
  const auto epoch = std::to_string(epoch_);
  const auto why = unreadable ? unreadable->detail
                              : "cannot be handed over again: it is no longer in the table, or "
                                "`where` leaves it out now";
  const auto left =
      row.redriven
          ? connection_.run(put_back_parked_, {lane_.process, lane, epoch, row.id,
                                               storable_text(why, Outcome::reason_bytes_max)})
          : connection_.run(forget_due_, {lane_.process, lane, epoch, row.id});
  lost_ = left.empty();
  if (!lost_ && left[0]["counted"].as<bool>()) {
    throw SessionLost("row " + row.id +
                      " of the batch in flight goes out no more, and its number "
                      "stays unused: the lane reads its cursor again");
  }
}

void Aside::choose(const Round& round, bool from_aside) {
  late_.clear();
  batch_.reset();
  if (!from_aside && !keeps_all_) return;
  batch_ = DueBatch{round.redriven, {}};
  for (const auto& record : round.records) {
    batch_->rows.push_back({record.position, record.key, record.late});
    if (record.late) late_.insert(record.id());
    begun_.insert(record.id());
  }
}

std::optional<Statement> Aside::queue(const std::vector<QueuedRow>& rows) const {
  if (rows.empty()) return std::nullopt;
  std::vector<std::string> times;
  std::vector<std::string> ids;
  std::vector<std::optional<std::string>> keys;
  for (const auto& row : rows) {
    times.push_back(timestamp_text(row.position.created_at_us));
    ids.push_back(row.position.id);
    keys.push_back(row.key);
  }
  return Statement{sql::store::queue_rows,
                   {lane_.process, std::to_string(lane_.lane), array_text(times), array_text(ids),
                    nullable_array_text(keys)}};
}

std::optional<Statement> Aside::take(const std::vector<std::string>& ids) const {
  if (!batch_ || ids.empty()) return std::nullopt;
  return Statement{sql::store::take_aside, {lane_.process, array_text(ids)}};
}

void Aside::taken(const std::vector<std::string>& ids, const Answer& answer) {
  for (const auto& id : ids) begun_.erase(id);
  for (std::size_t row = 0; row < answer.size(); ++row) keys_.erase(answer.value(row, "key"));
}

void Aside::parked(const Park& park, bool holds_key) {
  any_ = true;
  if (holds_key) keys_.insert(park.key);
}

}  // namespace seriatim::postgres

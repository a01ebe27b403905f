#include "postgres/store/parked_rows.hpp"

#include <algorithm>

#include "postgres/store/id_list.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

std::optional<std::string> text_of(const pqxx::field& field) {
  return field.is_null() ? std::nullopt : std::optional(field.as<std::string>());
}

}  // namespace

ParkedRows::ParkedRows(Connection& connection, const Table& table, const SourceConfig& config,
                       const LaneId& lane)
    : connection_(connection),
      lane_(lane),
      reader_(connection, table, config, lane),
      plans_batches_(config.late_rows == OnLateRow::deliver) {}

void ParkedRows::load(bool any) {
  any_ = any;
  keys_.clear();
  if (!any) return;
  for (const auto& row : connection_.run(sql::store::parked_keys, {lane_.process})) {
    keys_.insert(text_of(row["key"]));
  }
}

Round ParkedRows::redrive(const std::optional<Position>& cursor, Begin begin) {
  redriven_.reset();
  if (!any_) return {};
  const auto row =
      connection_.run(sql::store::redrive_window,
                      {lane_.process, std::to_string(lane_.lane), std::to_string(lane_.lanes)});
  if (row.empty() || row[0]["row_id"].is_null()) return {};
  const auto id = row[0]["row_id"].as<std::string>();
  const auto before = ids_from_json(row[0]["planned_ids"].as<std::string>());
  const bool started = !before.empty() && before.front() == id;
  const auto sequence = row[0]["sequence"].as<std::uint64_t>();
  const auto handed_to = row[0]["handed_to"].as<std::uint64_t>();
  const bool batch_in_hand = handed_to > sequence || (plans_batches_ && !before.empty());
  const bool may_begin = begin == Begin::idle || (begin == Begin::caught_up && !batch_in_hand);
  if (!started && !may_begin) return {};
  auto batch = reader_.read_ids({id}, cursor, 1);
  if (batch.records.empty()) {
    put_back(id, batch.unreadable ? batch.unreadable->detail
                                  : "cannot be handed over again: it is no longer in the table, or "
                                    "`where` leaves it out now");
    return {};
  }
  batch.records.front().late = true;
  redriven_ = id;
  plan_ = {started ? std::nullopt : std::optional(std::vector{id}), std::nullopt, before, sequence,
           handed_to};
  return {std::move(batch.records), false, {}, {}, {}, true};
}

void ParkedRows::put_back(const std::string& id, const std::string& why) {
  connection_.run(sql::store::put_back_parked, {lane_.process, std::to_string(lane_.lane), id,
                                                storable_text(why, Outcome::reason_bytes_max)});
}

void ParkedRows::queue(const std::vector<QueuedRow>& rows) {
  if (rows.empty()) return;
  std::vector<std::string> times;
  std::vector<std::string> ids;
  std::vector<std::optional<std::string>> keys;
  for (const auto& row : rows) {
    times.push_back(timestamp_text(row.position.created_at_us));
    ids.push_back(row.position.id);
    keys.push_back(row.key);
  }
  connection_.run(sql::store::queue_rows,
                  {lane_.process, std::to_string(lane_.lane), array_text(times), array_text(ids),
                   nullable_array_text(keys)});
}

void ParkedRows::take() {
  const auto taken = connection_.run(sql::store::take_parked, {lane_.process, *redriven_});
  if (taken.empty() || !taken[0]["holds_key"].as<bool>()) return;
  if (!taken[0]["queue_goes_on"].as<bool>()) keys_.erase(text_of(taken[0]["key"]));
}

bool ParkedRows::park(std::uint64_t epoch, const Parking& parking, const Position& to,
                      const std::vector<std::string>& open_ids) {
  const auto parked = connection_.run(
      sql::store::park_row,
      {lane_.process, std::to_string(lane_.lane), std::to_string(epoch), parking.row.id,
       timestamp_text(parking.row.created_at_us), parking.key, parking.holds_key ? "true" : "false",
       timestamp_text(to.created_at_us), to.id, std::to_string(parking.attempts),
       storable_text(parking.detail, Outcome::reason_bytes_max), array_text(open_ids)});
  if (parked.empty()) return false;
  any_ = true;
  if (parked[0]["holds_key"].as<bool>()) keys_.insert(parking.key);
  return true;
}

}  // namespace seriatim::postgres

// Of the lane's store: seriatim.aside.
#include "postgres/store/aside.hpp"

#include "postgres/store/cursor_repository.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

DueRows read_due_rows(Connection& connection, const LaneId& lane, unsigned rows_max,
                      const DueChoice& choice) {
  DueRows due;
  const std::vector<std::optional<std::string>> not_of(choice.not_of.begin(), choice.not_of.end());
  for (const auto& row :
       connection.run(sql::store::due_rows,
                      {lane.process, std::to_string(lane.lane), std::to_string(lane.lanes),
                       std::to_string(rows_max), array_text(choice.first),
                       nullable_array_text(not_of), array_text(choice.not_these)})) {
    due.number_in_use = row["number_in_use"].as<bool>();
    if (!row["held_for_ms"].is_null()) {
      due.held_for = std::chrono::milliseconds(row["held_for_ms"].as<std::int64_t>());
    }
    if (row["row_id"].is_null()) break;
    auto& read = due.rows.emplace_back(DueRow{row["row_id"].as<std::string>(),
                                              row["begun"].as<bool>(), row["redriven"].as<bool>()});
    read.attempts = row["attempts"].as<unsigned>();
    read.holds_key = row["holds_key"].as<bool>();
    if (!row["key"].is_null()) read.key = row["key"].as<std::string>();
    if (!row["late"].is_null()) read.late = row["late"].as<bool>();
    if (!row["created_at_us"].is_null()) read.created_at_us = row["created_at_us"].as<OrderKey>();
  }
  return due;
}

DueRows CursorRepository::due_rows(std::uint64_t epoch, unsigned rows_max,
                                   const DueChoice& choice) {
  connection_.rollback();
  auto due = read_due_rows(connection_, lane_, rows_max, choice);
  if (!due.held_for || due.held_for->count() > 0) return due;
  connection_.run(
      sql::store::release_held,
      lane_and({std::to_string(epoch), std::to_string(lane_.lanes), std::to_string(rows_max)}));
  return read_due_rows(connection_, lane_, rows_max, choice);
}

ParkedKeys read_parked_keys(Connection& connection, const std::string& process) {
  ParkedKeys keys;
  for (const auto& row : connection.run(sql::store::parked_keys, {process})) {
    const auto key = row["key"];
    keys.insert(key.is_null() ? std::nullopt : std::optional(key.as<std::string>()));
  }
  return keys;
}

ParkedKeys CursorRepository::parked_keys() {
  return read_parked_keys(connection_, lane_.process);
}

/// Refused if the lane is another's by now, who may have begun the row.
LeftOut CursorRepository::leave_out(std::uint64_t epoch, const DueRow& row,
                                    const std::optional<std::string>& unreadable) {
  const auto why = unreadable.value_or(
      "cannot be handed over again: it is no longer in the table, or `where` leaves it out now");
  auto params = lane_and({std::to_string(epoch), row.id});
  if (row.redriven) params.push_back(storable_text(why, Outcome::reason_bytes_max));
  const auto left = connection_.run(row.redriven ? put_back_parked_ : forget_due_, params);
  if (left.empty()) return LeftOut::refused;
  return left[0]["counted"].as<bool>() ? LeftOut::number_unused : LeftOut::quietly;
}

std::optional<Statement> CursorRepository::queue_statement(
    const std::vector<QueuedRow>& rows) const {
  std::vector<std::string> times;
  std::vector<std::string> ids;
  std::vector<std::optional<std::string>> keys;
  for (const auto& row : rows) {
    if (row.aside) continue;
    times.push_back(timestamp_text(row.position.created_at_us));
    ids.push_back(row.position.id);
    keys.push_back(row.key);
  }
  if (ids.empty()) return std::nullopt;
  return Statement{sql::store::queue_rows,
                   lane_and({array_text(times), array_text(ids), nullable_array_text(keys)})};
}

Statement CursorRepository::park_statement(const std::optional<Position>& from,
                                           const Park& park) const {
  return {
      sql::store::park,
      lane_and(
          {from ? std::optional(timestamp_text(from->created_at_us)) : std::nullopt,
           from ? std::optional(from->id) : std::nullopt, park.row.id,
           timestamp_text(park.row.created_at_us), park.key, park.holds_key ? "true" : "false",
           std::to_string(park.attempts), storable_text(park.detail, Outcome::reason_bytes_max),
           park.retry_in ? std::optional(std::to_string(park.retry_in->count())) : std::nullopt})};
}

}  // namespace seriatim::postgres

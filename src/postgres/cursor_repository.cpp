#include "postgres/cursor_repository.hpp"

#include <algorithm>

#include "postgres/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "seriatim_sql.hpp"

namespace seriatim::postgres {

namespace {

Cursor::State state_from(const std::string& text) {
  if (text == "running") return Cursor::State::running;
  if (text == "retrying") return Cursor::State::retrying;
  if (text == "halted") return Cursor::State::halted;
  if (text == "paused") return Cursor::State::paused;
  throw SourceBroken(HaltReason::source_changed,
                     "the cursor is in state \"" + text + "\", unknown to this program");
}

std::optional<std::string> at(const std::optional<Position>& position) {
  return position ? std::optional(timestamp_text(position->created_at_us)) : std::nullopt;
}

std::optional<std::string> id(const std::optional<Position>& position) {
  return position ? std::optional(position->id) : std::nullopt;
}

std::string literal(const std::optional<std::string>& text) {
  return text ? quote_literal(*text) : "NULL";
}

std::string stored(const std::string& detail) {
  return storable_text(detail, Outcome::reason_bytes_max);
}

std::optional<std::string> stored_id(const Failure& failure) {
  return failure.row_id.empty() ? std::nullopt : std::optional(failure.row_id);
}

}  // namespace

Cursor cursor_from(const pqxx::row& row) {
  Cursor cursor;
  if (!row["position_id"].is_null()) {
    cursor.position = {row["position_us"].as<std::int64_t>(), row["position_id"].as<std::string>()};
  }
  cursor.sequence = row["sequence"].as<std::uint64_t>();
  cursor.epoch = row["epoch"].as<std::uint64_t>();
  cursor.state = state_from(row["state"].as<std::string>());
  cursor.attempts = row["attempts"].as<unsigned>();
  cursor.crashes = row["crashes"].as<unsigned>();
  cursor.retry_in = milliseconds{std::max<std::int64_t>(0, row["retry_ms"].as<std::int64_t>(0))};
  cursor.reason = halt_reason_from(row["reason"].as<std::string>(""));
  cursor.detail = row["detail"].as<std::string>("");
  if (!row["failed_id"].is_null()) cursor.row_id = row["failed_id"].as<std::string>();
  return cursor;
}

CursorRepository::CursorRepository(Connection& connection, const Table& table, LaneId lane,
                                   std::string holder, milliseconds lease)
    : connection_(connection), lane_(std::move(lane)), holder_(std::move(holder)), lease_(lease) {
  if (!table.mark.empty()) mark_rows_ = statement_for(sql::mark_rows, table, lane_);
}

Params CursorRepository::lane_and(std::initializer_list<std::optional<std::string>> more) const {
  Params params{lane_.process, std::to_string(lane_.lane)};
  params.insert(params.end(), more);
  return params;
}

std::string CursorRepository::lease_text() const {
  return std::to_string(lease_.count());
}

// --- holding ------------------------------------------------------------------------------------

Claim CursorRepository::claim() {
  connection_.rollback();
  const auto lanes = std::to_string(lane_.lanes);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto taken = connection_.run(
        sql::claim,
        lane_and({lanes, holder_, lease_text(), std::to_string(connection_.backend_pid())}));
    if (!taken.empty()) return {true, cursor_from(taken[0]), holder_};
    refuse_other_lane_count();
    const auto seen = connection_.run(sql::look_at_cursor, lane_and({}));
    if (!seen.empty()) {
      return {false, cursor_from(seen[0]), seen[0]["holder"].as<std::string>("")};
    }
    connection_.run(sql::create_cursor, lane_and({lanes}));
  }
  throw SessionLost("the cursor row of process \"" + lane_.process + "\" vanished while claiming");
}

void CursorRepository::refuse_other_lane_count() {
  const auto other =
      connection_.run(sql::other_lane_count, {lane_.process, std::to_string(lane_.lanes)});
  if (other.empty()) return;
  throw SourceBroken(HaltReason::config_changed,
                     "process \"" + lane_.process + "\" was cut into " +
                         other[0][0].as<std::string>() + " lanes and is now configured with " +
                         std::to_string(lane_.lanes) + ": set `lanes` back");
}

void CursorRepository::release(std::uint64_t epoch, bool untouched) {
  connection_.rollback();
  connection_.run(sql::release_lane,
                  lane_and({std::to_string(epoch), holder_, untouched ? "true" : "false"}));
}

Cursor CursorRepository::look() {
  connection_.rollback();
  const auto row = connection_.run(sql::look_at_cursor, lane_and({}));
  if (row.empty()) {
    throw SessionLost("the cursor row of process \"" + lane_.process + "\" is gone");
  }
  return cursor_from(row[0]);
}

// --- moving -------------------------------------------------------------------------------------

bool CursorRepository::start(std::uint64_t epoch) {
  connection_.rollback();
  return !connection_.run(sql::start_attempt, lane_and({std::to_string(epoch), lease_text()}))
              .empty();
}

bool CursorRepository::lock(std::uint64_t epoch, const std::optional<Position>& expected) {
  const auto locked =
      connection_.begin(fill(sql::lock_cursor, {{"process", quote_literal(lane_.process)},
                                                {"lane", std::to_string(lane_.lane)},
                                                {"epoch", std::to_string(epoch)},
                                                {"position_at", literal(at(expected))},
                                                {"position_id", literal(id(expected))}}));
  if (!locked.empty()) return true;
  connection_.rollback();
  return false;
}

bool CursorRepository::advance(std::uint64_t epoch, const std::optional<Position>& from,
                               const std::vector<Position>& done, bool next_started) {
  if (!connection_.in_transaction() || done.empty()) return false;
  const auto moved = connection_.run(
      sql::advance_cursor,
      lane_and({std::to_string(epoch), at(from), id(from), at(done.back()), id(done.back()),
                std::to_string(done.size()), next_started ? "1" : "0", lease_text()}));
  if (moved.empty()) {
    connection_.rollback();
    return false;
  }
  if (!mark_rows_.empty()) {
    std::vector<std::string> ids;
    ids.reserve(done.size());
    for (const auto& position : done) ids.push_back(position.id);
    connection_.run(mark_rows_, {array_text(ids)});
  }
  connection_.commit();
  return true;
}

/// In the lock's transaction where there is one, else in one of its own.
bool CursorRepository::change(std::string_view sql, const Params& params) {
  const bool ours = !connection_.run(sql, params).empty();
  if (!connection_.in_transaction()) return ours;
  if (ours) {
    connection_.commit();
  } else {
    connection_.rollback();
  }
  return ours;
}

bool CursorRepository::note_retry(std::uint64_t epoch, const Failure& failure, milliseconds delay) {
  return change(sql::note_retry,
                lane_and({std::to_string(epoch), stored_id(failure), stored(failure.detail),
                          std::to_string(delay.count()), lease_text()}));
}

bool CursorRepository::halt(std::uint64_t epoch, HaltReason reason, const Failure& failure) {
  return change(sql::halt_lane, lane_and({std::to_string(epoch), stored_id(failure),
                                          stored(failure.detail), to_string(reason)}));
}

}  // namespace seriatim::postgres

#include "postgres/store/cursor_repository.hpp"

#include <algorithm>

#include "core/crash_point.hpp"
#include "core/ensure.hpp"
#include "core/mutant.hpp"
#include "postgres/store/noted_ids.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

Cursor::State state_from(const std::string& text) {
  if (text == "running") return Cursor::State::running;
  if (text == "retrying") return Cursor::State::retrying;
  if (text == "halted" || text == "retired") return Cursor::State::halted;
  if (text == "paused") return Cursor::State::paused;
  throw SourceBroken(HaltReason::source_changed,
                     "the cursor is in state \"" + text + "\", unknown to this program");
}

bool is_active(Cursor::State state) {
  return state == Cursor::State::running || state == Cursor::State::retrying;
}

std::optional<std::string> at(const std::optional<Position>& position) {
  return position ? std::optional(timestamp_text(position->created_at_us)) : std::nullopt;
}

std::optional<std::string> id(const std::optional<Position>& position) {
  return position ? std::optional(position->id) : std::nullopt;
}

std::optional<std::string> some(std::string text) {
  return text;
}

std::string literal(const std::optional<std::string>& text) {
  return text ? quote_literal(*text) : "NULL";
}

std::string stored(const std::string& detail) {
  return storable_text(detail, Outcome::reason_bytes_max);
}

/// What a settlement writes of the row after those that are done.
struct Written {
  std::optional<std::string> attempts;  ///< absent: as counted already
  std::string state = "running";
  std::optional<std::string> reason;
  std::optional<std::string> failed_id;
  std::optional<std::string> detail;
  std::optional<std::string> delay;  ///< ms
};

Written written(const Fate& fate, bool after_others) {
  Written row;
  const auto fail = [&](std::string state, const Failure& failure) {
    row.state = std::move(state);
    if (after_others) row.attempts = "1";
    if (!failure.row_id.empty()) row.failed_id = failure.row_id;
    row.detail = stored(failure.detail);
  };
  if (const auto* retry = std::get_if<Retry>(&fate)) {
    fail("retrying", retry->failure);
    row.delay = std::to_string(retry->delay.count());
  } else if (const auto* halt = std::get_if<Halt>(&fate)) {
    fail("halted", halt->failure);
    row.reason = to_string(halt->reason);
  } else {
    row.attempts = std::holds_alternative<Next>(fate) ? "1" : "0";
  }
  return row;
}

}  // namespace

Cursor cursor_from(const pqxx::row& row) {
  Cursor cursor;
  if (!row["position_id"].is_null()) {
    cursor.position = {row["position_us"].as<std::int64_t>(), row["position_id"].as<std::string>()};
  }
  cursor.sequence = row["sequence"].as<std::uint64_t>();
  cursor.set_aside = row["set_aside"].as<std::uint64_t>();
  cursor.epoch = row["epoch"].as<std::uint64_t>();
  cursor.state = state_from(row["state"].as<std::string>());
  cursor.attempts = row["attempts"].as<unsigned>();
  cursor.crashes = row["crashes"].as<unsigned>();
  cursor.retry_in = milliseconds{std::max<std::int64_t>(0, row["retry_ms"].as<std::int64_t>(0))};
  cursor.reason = halt_reason_from(row["reason"].as<std::string>(""));
  cursor.detail = row["detail"].as<std::string>("");
  if (!row["barrier_id"].is_null()) {
    cursor.barrier = {row["barrier_us"].as<std::int64_t>(), row["barrier_id"].as<std::string>()};
  }
  cursor.parked = row["parked"].as<unsigned>();
  if (!row["failed_id"].is_null()) cursor.row_id = row["failed_id"].as<std::string>();
  return cursor;
}

CursorRepository::CursorRepository(Connection& connection, const Table& table,
                                   const SourceConfig& source, LaneId lane, std::string holder,
                                   milliseconds lease, std::shared_ptr<CursorMemory> memory)
    : connection_(connection),
      table_(table),
      source_(source),
      lane_(std::move(lane)),
      holder_(std::move(holder)),
      lease_(lease),
      memory_(std::move(memory)),
      all_aside_(source.late_rows == OnLateRow::deliver) {
  if (!table.mark.empty()) mark_rows_ = statement_for(sql::store::mark_rows, table, lane_);
  start_ = fill(sql::store::start_attempt, {{"known", sql::store::rows_in_doubt}});
  start_unwaited_ = fill(sql::store::start_attempt, {{"known", sql::store::rows_are_durable}});
  lock_ = fill(sql::store::lock_cursor, {{"process", "$1"},
                                         {"lane", "$2"},
                                         {"epoch", "$3"},
                                         {"position_at", "$4"},
                                         {"position_id", "$5"},
                                         {"began", "$6"}});
  start_due_ = fill(sql::store::start_due, {{"start", start_}});
  settle_ = fill(sql::store::settle, {{"answer", sql::store::no_time_limit}});
  settle_sure_ = fill(sql::store::settle_surely, {{"settle", settle_}});
  const auto move = fill(sql::store::settle, {{"answer", "c.*"}});
  settle_and_halt_ = fill(sql::store::halt, {{"halt", move}});
  settle_and_park_ = fill(sql::store::settle_and_park, {{"settle", move}});
}

Params CursorRepository::lane_and(std::initializer_list<std::optional<std::string>> more) const {
  Params params{lane_.process, std::to_string(lane_.lane)};
  params.insert(params.end(), more);
  return params;
}

std::string CursorRepository::lease_text() const {
  return std::to_string(lease_.count());
}

/// What the cursor's epoch is compared with.
std::string CursorRepository::expected(std::uint64_t epoch) const {
  if (!core::mutant(core::Mutant::no_epoch)) return std::to_string(epoch);
  return connection_.run(sql::store::look_at_cursor, lane_and({}))[0]["epoch"].as<std::string>();
}

// --- holding ------------------------------------------------------------------------------------

void CursorRepository::release(std::uint64_t epoch, bool untouched) {
  connection_.rollback();
  connection_.run(sql::store::release_lane,
                  lane_and({expected(epoch), holder_, untouched ? "true" : "false"}));
}

Cursor CursorRepository::look() {
  connection_.rollback();
  const auto row = connection_.run(sql::store::look_at_cursor, lane_and({}));
  if (row.empty()) {
    throw SessionLost("the cursor row of process \"" + lane_.process + "\" is gone");
  }
  refuse_reborn(row[0]);  // its epochs begin again, so the epoch alone does not tell
  return cursor_from(row[0]);
}

// --- moving -------------------------------------------------------------------------------------

Params CursorRepository::start_params(std::uint64_t epoch, bool again,
                                      std::size_t next_rows) const {
  return lane_and({expected(epoch), lease_text(), again ? "0" : "1", std::to_string(next_rows),
                   began_text(), std::nullopt, std::nullopt});
}

bool CursorRepository::start(std::uint64_t epoch, bool again, std::size_t next_rows) {
  if (core::mutant(core::Mutant::no_durability)) return true;
  connection_.rollback();
  return !connection_.run_prepared(start_, start_params(epoch, again, next_rows)).empty();
}

bool CursorRepository::start_due(std::uint64_t epoch, bool again, std::size_t next_rows,
                                 const DueBatch& batch, const std::optional<Mark>& looked_at) {
  std::vector<std::string> ids;
  std::vector<std::string> times;
  std::vector<std::optional<std::string>> keys;
  std::string late;
  for (const auto& row : batch.rows) {
    ids.push_back(row.position.id);
    times.push_back(timestamp_text(row.position.created_at_us));
    keys.push_back(row.key);
    late += (late.empty() ? "" : ",") + std::string(row.late ? "t" : "f");
  }
  connection_.rollback();
  return !connection_
              .run_prepared(
                  start_due_,
                  lane_and(
                      {expected(epoch), lease_text(), again ? "0" : "1", std::to_string(next_rows),
                       began_text(), looked_at ? some(timestamp_text(*looked_at)) : std::nullopt,
                       batch.version, array_text(ids), array_text(times), nullable_array_text(keys),
                       '{' + late + '}', batch.redriven ? "true" : "false"}))
              .empty();
}

bool CursorRepository::asks_what_is_flushed() {
  if (!knows_flushed_) {
    const auto answer = connection_.attempt(sql::store::tells_what_is_flushed, {});
    const auto* told = std::get_if<pqxx::result>(&answer);
    knows_flushed_ = told != nullptr && (*told)[0][0].as<bool>();
  }
  return *knows_flushed_;
}

bool CursorRepository::start_and_lock(std::uint64_t epoch, const Start& start) {
  if (!connection_.direct() || core::mutant(core::Mutant::no_durability)) {
    return this->start(epoch, start.again, start.next_rows);
  }
  connection_.rollback();
  auto params = start_params(epoch, start.again, start.next_rows);
  const bool unwaited = start.may_be_lost && asks_what_is_flushed();
  if (unwaited) params.push_back(start.written);
  const auto stands =
      commit_and_lock(unwaited ? start_unwaited_ : start_, params, epoch, start.position);
  return !stands || (stands->epoch == epoch && is_active(stands->state));
}

Params CursorRepository::lock_params(std::uint64_t epoch,
                                     const std::optional<Position>& position) const {
  return lane_and({expected(epoch), at(position), id(position), began_text()});
}

bool CursorRepository::begin_locked(std::uint64_t epoch, const std::optional<Position>& position) {
  if (connection_.direct()) {
    return connection_.begin_prepared({lock_, lock_params(epoch, position)});
  }
  return !connection_
              .begin(fill(sql::store::lock_cursor, {{"process", quote_literal(lane_.process)},
                                                    {"lane", std::to_string(lane_.lane)},
                                                    {"epoch", expected(epoch)},
                                                    {"position_at", literal(at(position))},
                                                    {"position_id", literal(id(position))},
                                                    {"began", literal(began_text())}}))
              .empty();
}

bool CursorRepository::lock(std::uint64_t epoch, const std::optional<Position>& position) {
  if (!connection_.sent_ahead()) sent_.reset();
  const bool held = std::exchange(locked_, std::nullopt) == std::pair(epoch, position);
  if (held && connection_.in_transaction()) return true;
  sent_.reset();  // a move that was still on its way is taken back by this
  if (begin_locked(epoch, position)) return true;
  connection_.rollback();
  return false;
}

bool CursorRepository::hold(std::uint64_t epoch, const std::optional<Position>& position) {
  if (connection_.in_transaction() && !connection_.sent_ahead()) return true;
  locked_.reset();
  return lock(epoch, position);
}

/// Nothing beside the cursor row changes, and a prepared statement can do it.
bool CursorRepository::is_plain(const Move& move) const {
  const bool from_aside = all_aside_ || move.from_aside;
  const bool asks_more = core::mutant(core::Mutant::no_epoch);  // expected()
  return !from_aside && mark_rows_.empty() && connection_.direct() && !asks_more;
}

Params CursorRepository::settle_params(std::uint64_t epoch, const Move& move) const {
  const auto noted = noted_ids(move.open_ids, table_.integer_id(), id(move.from));
  const auto row = written(move.fate, !move.delivered.empty());
  return lane_and({expected(epoch),
                   at(move.from),
                   id(move.from),
                   at(move.to),
                   id(move.to),
                   std::to_string(move.ids.size()),
                   row.attempts,
                   lease_text(),
                   array_text(noted.listed),
                   std::to_string(move.queued),
                   std::to_string(move.next_rows),
                   noted.ranges,
                   move.newest ? some(timestamp_text(*move.newest)) : std::nullopt,
                   move.redriven ? std::to_string(move.ids.size()) : "0",
                   row.state,
                   row.reason,
                   row.failed_id,
                   row.detail,
                   row.delay,
                   began_text()});
}

Connection::Change CursorRepository::change_for(std::uint64_t epoch, const Move& move) const {
  auto params = settle_params(epoch, move);
  if (move.starts_next) params.emplace_back("1");
  return {{move.starts_next ? settle_sure_ : settle_, std::move(params)},
          {lock_, lock_params(epoch, move.to)}};
}

Connection::Ahead CursorRepository::ahead(std::uint64_t epoch,
                                          const std::optional<Move>& next) const {
  if (!next) return {};
  return [this, epoch, &next] { return change_for(epoch, *next); };
}

bool CursorRepository::send_ahead(std::uint64_t epoch, Move move) {
  if (connection_.sent_ahead()) return sent_ && sent_->epoch == epoch && sent_->move == move;
  if (!connection_.in_transaction() || !is_plain(move)) return false;
  prepare_to_take_back();
  connection_.send_ahead(change_for(epoch, move));
  remember_sent(epoch, std::move(move));
  return true;
}

void CursorRepository::remember_sent(std::uint64_t epoch, std::optional<Move> move) {
  if (move && connection_.sent_ahead()) sent_ = {epoch, *std::move(move)};
}

/// Taking back and what comes instead are to go in one message, so that the lock is not free for
/// longer than that takes.
void CursorRepository::prepare_to_take_back() {
  if (std::exchange(may_be_taken_back_, true)) return;
  for (const std::string_view statement :
       {std::string_view("ROLLBACK"), std::string_view(lock_), std::string_view(settle_),
        std::string_view(settle_sure_), std::string_view(settle_and_halt_)}) {
    connection_.prepare(statement);
  }
}

bool CursorRepository::advance_sent(bool goes_on, std::optional<Move> next,
                                    Connection::Behind* behind) {
  const auto sent = std::exchange(sent_, std::nullopt).value();
  const auto& [epoch, move] = sent;
  try {
    core::crash_point("updated");
    const bool moved =
        goes_on ? connection_.commit_sent(ahead(epoch, next)) : connection_.end_sent(behind);
    core::crash_point("committed");
    if (!goes_on) return moved;
    if (moved) {
      locked_.emplace(epoch, move.to);
      remember_sent(epoch, std::move(next));
      return true;
    }
    const auto stands = look();
    return stands.epoch == epoch && stands.position == move.to;
  } catch (const SourceBroken& refused) {
    if (!changed_hands(refused, epoch, move.from)) throw;
    return false;
  }
}

void CursorRepository::take_back() {
  if (!sent_) return;
  if (connection_.sent_ahead() && begin_locked(sent_->epoch, sent_->move.from))
    return sent_.reset();
  connection_.rollback();
  throw SessionLost("the lane was taken, or changed, before its handler began to write");
}

/// Where another move was sent ahead it is taken back in the same message, so that nobody who waits
/// for the lock gets it in between.
bool CursorRepository::advance(std::uint64_t epoch, const Move& move, std::optional<Move> next,
                               Connection::Behind* behind) try {
  if (!connection_.in_transaction() || move.ids.empty()) return false;
  auto params = settle_params(epoch, move);
  const bool with_lock = move.goes_on && is_plain(move);
  const bool surely = move.starts_next || (with_lock && move.with_others);
  core::ensure(!surely || !(all_aside_ || move.from_aside),
               "no batch from seriatim.aside starts with a commit");
  if (surely) params.emplace_back(move.starts_next ? "1" : "0");
  if (with_lock) {
    if (next && !connection_.sent_ahead()) prepare_to_take_back();
    return advance_and_lock(surely ? settle_sure_ : settle_, params, epoch, move, std::move(next));
  }
  const auto& statement = surely ? settle_sure_ : settle_;
  const bool alone = is_plain(move) && move.queued == 0 && !move.with_others;
  if (alone && !connection_.sent_ahead()) {
    core::crash_point("updated");
    const bool moved = connection_.commit_after({statement, params}, behind);
    core::crash_point("committed");
    return moved;
  }
  const bool moved = connection_.sent_ahead()
                         ? connection_.begin_prepared({statement, params})
                         : !connection_.run_prepared(statement, params).empty();
  if (moved) mark_rows(move.delivered);
  core::crash_point("updated");
  if (!end(moved)) return false;
  core::crash_point("committed");
  return true;
} catch (const SourceBroken& refused) {
  if (!changed_hands(refused, epoch, move.from)) throw;
  return false;
}

/// What settle_surely.sql fails with, where it was not a trigger of the user's.
bool CursorRepository::changed_hands(const SourceBroken& refused, std::uint64_t epoch,
                                     const std::optional<Position>& from) {
  if (refused.sqlstate() != "22012") return false;
  const auto stands = look();
  return stands.epoch != epoch || stands.position != from || !is_active(stands.state);
}

bool CursorRepository::advance_and_lock(const std::string& statement, const Params& params,
                                        std::uint64_t epoch, const Move& move,
                                        std::optional<Move> next) {
  core::crash_point("updated");
  const auto stands = commit_and_lock(statement, params, epoch, move.to, std::move(next));
  core::crash_point("committed");
  return !stands || (stands->epoch == epoch && stands->position == move.to);
}

/// Only the answer of the lock is seen, and it tells of both. Refused: so was what came before it;
/// or that was done, and then the lane paused, or locked by an operator's act.
std::optional<Cursor> CursorRepository::commit_and_lock(std::string_view statement,
                                                        const Params& params, std::uint64_t epoch,
                                                        const std::optional<Position>& position,
                                                        std::optional<Move> next) {
  const bool locked = connection_.commit_with(
      {{statement, params}, {lock_, lock_params(epoch, position)}}, ahead(epoch, next));
  if (!locked) return look();
  locked_.emplace(epoch, position);
  remember_sent(epoch, std::move(next));
  return std::nullopt;
}

bool CursorRepository::end(bool ours) {
  if (ours) {
    connection_.commit();
  } else {
    connection_.rollback();
  }
  return ours;
}

std::string_view CursorRepository::failure_statement(const Fate& fate) const {
  if (std::holds_alternative<Halt>(fate)) return settle_and_halt_;
  return std::holds_alternative<Park>(fate) ? settle_and_park_ : settle_;
}

CursorRepository::Failed CursorRepository::fail(std::uint64_t epoch, const Move& move) {
  if (!move.ids.empty() && !connection_.in_transaction()) return {};
  const auto statement = failure_statement(move.fate);
  auto params = settle_params(epoch, move);
  const auto* park = std::get_if<Park>(&move.fate);
  if (park) {
    params.insert(params.end(), {park->row.id, timestamp_text(park->row.created_at_us), park->key,
                                 park->holds_key ? "true" : "false", std::to_string(park->attempts),
                                 stored(park->detail)});
  }
  const auto ended = [&](bool ours) {
    if (ours) mark_rows(move.delivered);
    if (!move.ids.empty()) core::crash_point("updated");
    const bool kept = connection_.in_transaction() ? end(ours) : ours;
    if (kept && !move.ids.empty()) core::crash_point("committed");
    return kept;
  };
  if (connection_.sent_ahead() && !park) {
    return {ended(connection_.begin_prepared({statement, params}))};
  }
  const auto rows = connection_.run(statement, params);
  return {ended(!rows.empty()), park && !rows.empty() && rows[0]["holds_key"].as<bool>()};
}

void CursorRepository::mark_rows(const std::vector<std::string>& delivered) {
  if (!mark_rows_.empty() && !delivered.empty())
    connection_.run(mark_rows_, {array_text(delivered)});
}

}  // namespace seriatim::postgres

#include "postgres/store/cursor_repository.hpp"

#include <algorithm>

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
  cursor.held = row["held"].as<bool>();
  if (!row["failed_id"].is_null()) cursor.row_id = row["failed_id"].as<std::string>();
  return cursor;
}

CursorRepository::CursorRepository(Connection& connection, const Table& table,
                                   const SourceConfig& source, LaneId lane, std::string holder,
                                   Leases leases, std::shared_ptr<CursorMemory> memory)
    : connection_(connection),
      table_(table),
      source_(source),
      lane_(std::move(lane)),
      holder_(std::move(holder)),
      leases_(leases),
      memory_(std::move(memory)) {
  if (!table.mark.empty()) mark_rows_ = statement_for(sql::store::mark_rows, table, lane_);
  start_ = fill(sql::store::start_attempt, {{"known", sql::store::rows_in_doubt}});
  start_unwaited_ = fill(sql::store::start_attempt, {{"known", sql::store::rows_are_durable}});
  start_due_ = fill(sql::store::start_due, {{"start", start_}});
  lock_ = fill(sql::store::lock_cursor, {{"process", "$1"},
                                         {"lane", "$2"},
                                         {"epoch", "$3"},
                                         {"position_at", "$4"},
                                         {"position_id", "$5"},
                                         {"began", "$6"}});
  const auto settle = [](std::string_view answer) {
    return fill(sql::store::settle, {{"answer", answer}, {"goes_on", sql::store::goes_on}});
  };
  const auto texts = [&](std::string_view refused) {
    return Texts{fill(sql::store::settle_surely,
                      {{"settle", settle(sql::store::settled)}, {"refused", refused}}),
                 fill(sql::store::halt, {{"halt", settle("c.*")}, {"refused", refused}})};
  };
  surely_ = texts("(1 / count(*))::text");
  alone_ = texts("'lost'");
  alone_.settle = settle(sql::store::settled);
}

Params CursorRepository::lane_and(std::initializer_list<std::optional<std::string>> more) const {
  Params params{lane_.process, std::to_string(lane_.lane)};
  params.insert(params.end(), more);
  return params;
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

// --- one call -----------------------------------------------------------------------------------

Params CursorRepository::start_params(std::uint64_t epoch, const Start& start,
                                      const std::optional<Mark>& looked_at) const {
  return lane_and({expected(epoch), std::to_string(leases_.call.count()), start.again ? "0" : "1",
                   std::to_string(start.rows), began_text(),
                   looked_at ? some(timestamp_text(*looked_at)) : std::nullopt, at(start.from),
                   id(start.from)});
}

/// A call that was announced before, and is not made now, must not keep a person waiting.
Grant CursorRepository::granted(std::uint64_t epoch, bool started) {
  if (started) return Grant::ours;
  const auto stands = look();
  if (stands.epoch != epoch || !stands.held) return Grant::lost;
  connection_.run(sql::store::withdraw_call, lane_and({expected(epoch)}));
  return Grant::held;
}

Grant CursorRepository::start(std::uint64_t epoch, const Start& start) {
  if (core::mutant(core::Mutant::no_durability)) return Grant::ours;
  auto params = start_params(epoch, start, std::nullopt);
  const bool unwaited = connection_.direct() && start.may_be_lost && asks_what_is_flushed();
  if (unwaited) params.push_back(start.written);
  const auto started = connection_.run_prepared(unwaited ? start_unwaited_ : start_, params);
  return granted(epoch, !started.empty());
}

Grant CursorRepository::start_due(std::uint64_t epoch, const Start& start, const DueBatch& batch,
                                  const std::optional<Mark>& looked_at) {
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
  auto params = start_params(epoch, start, looked_at);
  params.insert(params.end(), {array_text(ids), array_text(times), nullable_array_text(keys),
                               '{' + late + '}', batch.redriven ? "true" : "false"});
  return granted(epoch, !connection_.run_prepared(start_due_, params).empty());
}

bool CursorRepository::asks_what_is_flushed() {
  if (!knows_flushed_) {
    const auto answer = connection_.attempt(sql::store::tells_what_is_flushed, {});
    const auto* told = std::get_if<pqxx::result>(&answer);
    knows_flushed_ = told != nullptr && (*told)[0][0].as<bool>();
  }
  return *knows_flushed_;
}

bool CursorRepository::lock(std::uint64_t epoch, const std::optional<Position>& position) {
  const auto process = lane_.process;
  const bool locked =
      connection_.direct()
          ? connection_.begin_prepared(
                {lock_, lane_and({expected(epoch), at(position), id(position), began_text()})})
          : !connection_
                 .begin(fill(sql::store::lock_cursor, {{"process", quote_literal(lane_.process)},
                                                       {"lane", std::to_string(lane_.lane)},
                                                       {"epoch", expected(epoch)},
                                                       {"position_at", literal(at(position))},
                                                       {"position_id", literal(id(position))},
                                                       {"began", literal(began_text())}}))
                 .empty();
  if (!locked) connection_.rollback();
  return locked;
}

Params CursorRepository::settle_params(std::uint64_t epoch, const Move& move) const {
  const auto noted = noted_ids(move.open_ids, table_.integer_id(), id(move.from));
  const auto row = written(move.fate, !move.delivered.empty());
  const auto* next = std::get_if<Next>(&move.fate);
  return lane_and({expected(epoch),
                   at(move.from),
                   id(move.from),
                   at(move.to),
                   id(move.to),
                   std::to_string(move.rows),
                   row.attempts,
                   std::to_string(leases_.lane.count()),
                   array_text(noted.listed),
                   std::to_string(move.set_aside),
                   std::to_string(next ? next->rows : 0),
                   noted.ranges,
                   move.newest ? some(timestamp_text(*move.newest)) : std::nullopt,
                   move.redriven ? std::to_string(move.rows) : "0",
                   row.state,
                   row.reason,
                   row.failed_id,
                   row.detail,
                   row.delay,
                   began_text(),
                   next ? some(std::to_string(leases_.call.count())) : std::nullopt});
}

Statement CursorRepository::park_statement(const std::optional<Position>& from,
                                           const Park& park) const {
  return {sql::store::park,
          lane_and({at(from), id(from), park.row.id, timestamp_text(park.row.created_at_us),
                    park.key, park.holds_key ? "true" : "false", std::to_string(park.attempts),
                    stored(park.detail)})};
}

CursorRepository::Settled CursorRepository::settle(std::uint64_t epoch, const Move& move,
                                                   Connection::Behind* behind) {
  const bool marks = !mark_rows_.empty() && !move.delivered.empty();
  const bool parks = std::holds_alternative<Park>(move.fate);
  const bool alone = !connection_.in_transaction() && move.with.empty() && !marks && !parks;
  const auto& texts = alone ? alone_ : surely_;
  Statement statement{std::holds_alternative<Halt>(move.fate) ? texts.halt : texts.settle,
                      settle_params(epoch, move)};
  try {
    return alone ? settle_alone(statement, behind)
                 : settle_in_transaction(std::move(statement), move);
  } catch (const SourceBroken& refused) {
    const bool division_by_zero = refused.sqlstate() == "22012";  // or by a trigger of the user's
    if (alone || !division_by_zero || !changed_hands(epoch, move.from)) throw;
    return {};
  }
}

namespace {

/// Somebody has locked what a statement needs, which has changed nothing, and its limit is over.
bool waited_too_long(const SessionLost& lost) {
  return lost.sqlstate() == "55P03" || lost.sqlstate() == "57014";
}

Grant grant_from(const Answer& answer) {
  const auto text = answer.empty() ? std::nullopt : answer.value(0, "answer");
  if (text == "ours") return Grant::ours;
  return text == "held" ? Grant::held : Grant::lost;
}

}  // namespace

/// A row is delivered, so giving up because others have locked something would deliver it again.
CursorRepository::Settled CursorRepository::settle_alone(const Statement& statement,
                                                         Connection::Behind* behind) {
  try {
    return {.grant = grant_from(connection_.run_then(statement, behind))};
  } catch (const SessionLost& lost) {
    if (!waited_too_long(lost)) throw;
  }
  const auto answers = connection_.commit_with({{sql::store::no_time_limit}, statement});
  return {.grant = grant_from(answers[1])};
}

CursorRepository::Settled CursorRepository::settle_in_transaction(Statement settle,
                                                                  const Move& move) {
  std::vector<Statement> statements{{sql::store::no_time_limit}, std::move(settle)};
  statements.insert(statements.end(), move.with.begin(), move.with.end());
  if (!mark_rows_.empty() && !move.delivered.empty()) {
    statements.push_back({mark_rows_, {array_text(move.delivered)}});
  }
  const auto* park = std::get_if<Park>(&move.fate);
  if (park) statements.push_back(park_statement(move.from, *park));
  auto answers = connection_.commit_with(statements);
  Settled settled{.grant = grant_from(answers[1])};
  if (park) settled.holds_key = answers.back().value(0, "holds_key") == "true";
  for (std::size_t i = 0; i < move.with.size(); ++i) {
    settled.answers.push_back(std::move(answers[2 + i]));
  }
  return settled;
}

/// So that settling it was refused.
bool CursorRepository::changed_hands(std::uint64_t epoch, const std::optional<Position>& from) {
  const auto stands = look();
  return stands.epoch != epoch || stands.position != from || !is_active(stands.state);
}

}  // namespace seriatim::postgres
